// ends: defined
try { return new RegExp('()'.repeat(70000)).exec('').length; } catch { return 'refused'; }
