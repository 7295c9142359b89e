// CVE-2023-37466: the promise of a host call must not lead to the host's `Promise`.
// ends: value []
const found = [];
const promise = tools.host.echo({ a: 1 });
if (!(promise instanceof Promise)) found.push('another realm');
for (const key of Reflect.ownKeys(promise)) found.push(String(key));
await promise;
return found;
