// `concat`, `slice` and `splice` of a list that its getters change (CVE-2017-2464 and others).
// ends: defined
const list = Array(2000).fill(1);
Object.defineProperty(list, '5', { get() { list.length = 1; list.push(1.1, {}, 'x'); return 5; } });
try { return [list.slice(0).length, [].concat(list, list).length, list.splice(0, 3).length]; } catch { return 'refused'; }
