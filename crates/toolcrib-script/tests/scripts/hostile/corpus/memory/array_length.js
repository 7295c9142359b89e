// ends: defined
const list = []; list.length = 2 ** 32 - 1;
try { return list.fill(0).length; } catch { return 'refused'; }
