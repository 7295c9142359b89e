// ends: defined
const seen = [];
const registry = new FinalizationRegistry((value) => { seen.push(value); throw new Error('in a finalizer'); });
for (let at = 0; at < 10000; at++) registry.register({}, at);
const weak = new WeakRef({});
await tools.host.echo({});
return typeof weak.deref();
