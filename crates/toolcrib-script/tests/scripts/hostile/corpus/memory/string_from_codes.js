// ends: defined
try { return String.fromCharCode.apply(null, { length: 1e7 }).length; } catch { return 'refused'; }
