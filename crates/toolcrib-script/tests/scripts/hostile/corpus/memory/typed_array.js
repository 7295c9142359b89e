// ends: defined
const kept = [];
try { while (true) kept.push(new Float64Array(1 << 20)); } catch { return 'refused'; }
