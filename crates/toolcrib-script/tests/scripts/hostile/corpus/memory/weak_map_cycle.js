// ends: defined
let key = {};
const map = new WeakMap();
for (let at = 0; at < 20000; at++) { const next = {}; map.set(key, { next, map }); key = next; }
return map.has(key);
