// made: 'return ' + '{a:'.repeat(16000) + '1' + '}'.repeat(16000)
// ends: defined
