// ends: value "x"
const Own = Promise;
globalThis.Promise = class { constructor() { throw new Error('no'); } };
const value = await tools.host.echo({ text: 'x' });
globalThis.Promise = Own;
return value.text;
