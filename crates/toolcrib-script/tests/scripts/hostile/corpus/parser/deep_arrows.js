// made: 'return ' + 'a=>'.repeat(21000) + '1'
// ends: defined
