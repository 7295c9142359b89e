// A chain that resolves from the innermost on.
// ends: defined
let promise = Promise.resolve(1);
for (let at = 0; at < 200000; at++) { const inner = promise; promise = new Promise((resolve) => resolve(inner)); }
return await promise;
