// ends: defined
Object.prototype[Symbol.toPrimitive] = () => { throw new Error('tampered'); };
Object.prototype.toString = () => { throw new Error('tampered'); };
Object.prototype.valueOf = () => { throw new Error('tampered'); };
const value = await tools.host.echo({ text: 'x' });
return value.text;
