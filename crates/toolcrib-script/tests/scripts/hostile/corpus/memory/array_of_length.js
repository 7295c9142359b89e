// ends: defined
try { return Array.from({ length: 2 ** 32 - 1 }).length; } catch { return 'refused'; }
