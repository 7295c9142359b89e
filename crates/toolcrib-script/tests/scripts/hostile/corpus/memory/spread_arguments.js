// ends: defined
try { return Math.max(...Array(5000000).fill(1)); } catch { return 'refused'; }
