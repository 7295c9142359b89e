// ends: defined
try { return String((1n << 1n << 2147483647n) >> 2147483647n); } catch { return 'refused'; }
