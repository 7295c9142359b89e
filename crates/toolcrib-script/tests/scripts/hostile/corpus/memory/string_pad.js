// ends: defined
try { return 'x'.padStart(2 ** 30 - 1, 'abc').length + 'x'.padEnd(2 ** 30 - 1, 'abc').length; } catch { return 'refused'; }
