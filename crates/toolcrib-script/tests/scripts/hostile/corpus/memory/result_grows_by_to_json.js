// ends: defined
let depth = 0;
const grow = { toJSON() { return depth++ < 1e6 ? { a: grow, b: 'x'.repeat(100) } : 1; } };
return grow;
