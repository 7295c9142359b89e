// ends: defined
try { return 'x'.repeat(2 ** 29).length; } catch { return 'refused'; }
