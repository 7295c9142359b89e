// made: 'return ' + '`${'.repeat(10000) + '1' + '}`'.repeat(10000)
// ends: defined
