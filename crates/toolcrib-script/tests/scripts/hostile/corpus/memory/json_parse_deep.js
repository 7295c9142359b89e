// ends: defined
try { return JSON.parse('['.repeat(1000000) + ']'.repeat(1000000)).length; } catch { return 'refused'; }
