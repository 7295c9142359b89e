// ends: defined
let value = 1;
for (let at = 0; at < 2000; at++) value = [value, value === 1 ? 2 : 3];
try { return JSON.stringify(value, null, '          ').length; } catch { return 'refused'; }
