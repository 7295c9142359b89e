// ends: defined
try { return Array.prototype.join.call({ length: 2 ** 53 - 1 }, 'x').length; } catch { return 'refused'; }
