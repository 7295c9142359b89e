// ends: defined
const expression = /x/gy;
expression.lastIndex = { valueOf() { expression.compile && expression.compile('y'.repeat(1000)); return 2 ** 31; } };
try { return expression.exec('x'.repeat(10)); } catch { return 'refused'; }
