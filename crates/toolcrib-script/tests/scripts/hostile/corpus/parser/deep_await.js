// made: 'return ' + 'await '.repeat(10000) + '1'
// ends: defined
