// ends: defined
try { return new RegExp('(?:a{1000}){1000}{1000}').test('a'); } catch { return 'refused'; }
