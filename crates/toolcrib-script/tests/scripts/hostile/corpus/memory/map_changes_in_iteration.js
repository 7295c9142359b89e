// ends: limit
const map = new Map([[0, 0]]);
for (const [key] of map) { map.delete(key); map.set(key + 1, {}); if (key % 1000 === 0) map.clear(), map.set(key + 1, 1); }
