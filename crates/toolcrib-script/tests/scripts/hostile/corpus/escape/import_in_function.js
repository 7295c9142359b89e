// The same in code that is made while the script runs.
// ends: value []
const found = [];
for (const name of ['std', 'os', 'fs', 'bjson']) {
  try {
    const run = new Function('return import(' + JSON.stringify(name) + ')');
    found.push(Object.keys(await run()).length);
  } catch {}
}
return found;
