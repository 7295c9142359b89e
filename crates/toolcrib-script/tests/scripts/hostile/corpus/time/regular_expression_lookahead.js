// ends: limit
return /(?=(a*)*b)(?=(a*)*c)/.test('a'.repeat(40));
