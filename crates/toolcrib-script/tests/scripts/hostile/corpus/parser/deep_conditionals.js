// made: 'return ' + '1?'.repeat(16000) + '1' + ':1'.repeat(16000)
// ends: defined
