// ends: defined
const list = Array.from({ length: 10000 }, (_, at) => ({ at }));
try { return list.map((value, at) => { if (at === 1) { list.length = 2; list.push(...Array(20000).fill(null)); } return value && value.at; }).length; } catch { return 'refused'; }
