// ends: limit
return /(x+x+)+\1y/.test('x'.repeat(60));
