// ends: limit
const kept = [];
while (true) kept.push(Symbol.for('x'.repeat(100) + kept.length));
