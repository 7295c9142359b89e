// CVE-2020-22876 and others: the compiler of regular expressions overflows the stack.
// ends: defined
try { return new RegExp('('.repeat(200000) + ')'.repeat(200000)).test('x'); } catch { return 'refused'; }
