// ends: defined
try { return '\ufdfa'.repeat(300000).normalize('NFKD').length; } catch { return 'refused'; }
