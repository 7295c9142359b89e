// Names that mean something to objects mean tools that do not exist, or nothing.
// ends: value []
const found = [];
for (const name of ['__proto__', 'constructor', 'prototype', 'then', 'toJSON', 'valueOf', 'hasOwnProperty', '__defineGetter__', '']) {
  for (const call of [() => tools[name].x({}), () => tools.host[name]({}), () => tools[name][name]({})]) {
    try { const value = await call(); if (value && value.process) found.push(name); } catch {}
  }
}
return found;
