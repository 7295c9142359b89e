// A tool whose result has `__proto__` changes no prototype.
// ends: value []
const found = [];
const value = await tools.host.hostile({});
if ({}.polluted !== undefined) found.push('Object.prototype');
if (value.polluted !== undefined) found.push('the result');
if (Object.getPrototypeOf(value) !== Object.prototype) found.push('its prototype');
return found;
