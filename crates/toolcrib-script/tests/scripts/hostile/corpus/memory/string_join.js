// ends: defined
try { return Array(2 ** 27).join('abcdefgh').length; } catch { return 'refused'; }
