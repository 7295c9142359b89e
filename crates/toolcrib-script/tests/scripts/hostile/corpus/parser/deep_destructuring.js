// made: 'const ' + '['.repeat(20000) + 'a' + ']'.repeat(20000) + ' = []'
// ends: defined
