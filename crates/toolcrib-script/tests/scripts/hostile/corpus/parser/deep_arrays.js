// made: 'return ' + '['.repeat(30000) + ']'.repeat(30000)
// ends: defined
