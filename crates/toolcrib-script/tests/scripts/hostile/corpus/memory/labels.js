// ends: limit
const kept = [];
while (true) kept.push(new RegExp('x'.repeat(1000) + kept.length));
