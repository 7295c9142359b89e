// ends: defined
let list = [1];
for (let at = 0; at < 30; at++) list = [list, list];
try { return list.flat(Infinity).length; } catch { return 'refused'; }
