// ends: limit
const kept = [];
function* hold() { const data = new Array(1000).fill(0); yield data; }
while (true) { const one = hold(); one.next(); kept.push(one); }
