// ends: defined
const object = { length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true };
try { return [].concat(object, object).length; } catch { return 'refused'; }
