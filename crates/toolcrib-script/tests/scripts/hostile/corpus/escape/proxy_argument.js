// Traps on arguments see nothing of the host.
// ends: value []
const found = [];
const handler = {};
for (const trap of ['get', 'has', 'ownKeys', 'getOwnPropertyDescriptor', 'getPrototypeOf']) {
  handler[trap] = (target, ...rest) => {
    for (const value of rest) if (value && typeof value === 'object' && value.process) found.push(trap);
    if (new Error('x').stack.includes('.rs')) found.push('stack');
    return Reflect[trap](target, ...rest);
  };
}
await tools.host.echo(new Proxy({ a: 1 }, handler)).catch(() => null);
return found;
