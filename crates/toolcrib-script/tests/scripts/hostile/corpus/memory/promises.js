// ends: defined
let count = 0;
for (let at = 0; at < 1000000; at++) Promise.resolve(at).then(() => count++);
await null;
return count;
