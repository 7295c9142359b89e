// ends: limit
const kept = [];
while (true) { try { null.x; } catch (error) { error.cause = kept; kept.push(error, error.stack + kept.length); } }
