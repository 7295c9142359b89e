// ends: defined
try { return 'x'.repeat(4e6).split('').length; } catch { return 'refused'; }
