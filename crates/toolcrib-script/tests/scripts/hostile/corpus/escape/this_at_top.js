// ends: value []
const found = [];
const hosts = [this, (function () { return this; })(), (() => this)(), (0, function () { return this; })()];
for (const host of hosts) {
  for (const name of ['process', 'require', 'std', 'os']) if (host && host[name] !== undefined) found.push(name);
}
return found;
