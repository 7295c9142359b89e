// ends: limit|refused
function* forever() { while (true) { try { yield 1; } finally { yield* forever(); } } }
for (const value of forever()) {}
