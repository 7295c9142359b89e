// ends: limit
return /^(a+)+$/.test('a'.repeat(40) + '!');
