// ends: defined
try { return new RegExp('[' + Array.from({ length: 60000 }, (_, at) => String.fromCharCode(33 + at * 2 % 60000)).join('').replace(/[\]\\^-]/g, '') + ']', 'iu').test('x'); } catch { return 'refused'; }
