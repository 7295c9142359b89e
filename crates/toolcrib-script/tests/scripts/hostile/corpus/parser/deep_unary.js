// made: 'return ' + '!'.repeat(65000) + '1'
// ends: defined
