// ends: defined
try { return BigInt('9'.repeat(5000000)) % 7n === 1n; } catch { return 'refused'; }
