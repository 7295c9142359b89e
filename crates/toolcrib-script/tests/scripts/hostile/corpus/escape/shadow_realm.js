// ends: value []
const found = [];
if (typeof ShadowRealm === 'function') {
  const realm = new ShadowRealm();
  for (const name of ['process', 'std', 'os', 'fetch']) if (realm.evaluate('typeof ' + name) !== 'undefined') found.push(name);
}
return found;
