// ends: limit
return /^(a|aa|a?)+$/.test('a'.repeat(60) + 'b');
