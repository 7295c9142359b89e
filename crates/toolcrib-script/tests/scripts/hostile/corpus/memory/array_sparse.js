// ends: defined
const list = []; list[4294967290] = 1; list[0] = 2;
try { return [list.indexOf(1), list.reverse().length, list.concat([1]).length]; } catch { return 'refused'; }
