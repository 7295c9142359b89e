// ends: limit
const list = [];
while (true) list.push({ a: [1, 2, 3], b: 'x' + list.length });
