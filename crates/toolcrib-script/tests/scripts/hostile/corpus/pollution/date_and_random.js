// ends: value "number"
Date.now = () => { throw new Error('tampered'); };
Math.random = () => NaN;
globalThis.Date = null;
await tools.host.echo({});
return typeof Math.random();
