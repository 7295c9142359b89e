// Prototype pollution reaches no result, argument or error of the host.
// ends: value "x"
Object.prototype.text = 'polluted';
Object.prototype.name = 'host.denied';
Object.prototype.error = { kind: 'denied' };
const value = await tools.host.echo({ text: 'x' });
return value.text;
