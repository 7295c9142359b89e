// ends: value "refused"
try { return 'x'.repeat(2 ** 53).length; } catch { return 'refused'; }
