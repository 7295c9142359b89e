// ends: value []
const found = [];
const argument = JSON.parse('{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 2}}}');
await tools.host.echo(argument).catch(() => null);
if ({}.polluted !== undefined) found.push('Object.prototype');
return found;
