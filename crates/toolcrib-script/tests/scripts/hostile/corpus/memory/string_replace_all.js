// ends: defined
try { return 'a'.repeat(1e5).replaceAll('a', '$&'.repeat(1000)).length; } catch { return 'refused'; }
