// ends: value []
const found = [];
for (const key of ['id', 'type', 'name', 'arguments', 'result', 'error', 'call', 'tool', 'args', 'params']) {
  Object.defineProperty(Object.prototype, key, {
    configurable: true,
    set(value) { found.push(key + ': ' + typeof value); },
    get() { return undefined; },
  });
}
await tools.host.echo({ a: 1 }).catch(() => null);
return found;
