// ends: value []
const found = [];
Object.defineProperty(Array.prototype, '0', { configurable: true, set(value) { found.push(typeof value); }, get() { return 'polluted'; } });
await tools.host.echo({ list: [] }).catch(() => null);
console.log('x', 1);
delete Array.prototype[0];
return found;
