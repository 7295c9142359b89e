// made: 'return ' + '1+'.repeat(32000) + '1'
// ends: defined
