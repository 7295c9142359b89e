// ends: defined
try { return JSON.parse('[' + '[],'.repeat(3000000) + '1]').length; } catch { return 'refused'; }
