// ends: limit
const set = new Set([0]);
for (const value of set) set.add(value + 1);
