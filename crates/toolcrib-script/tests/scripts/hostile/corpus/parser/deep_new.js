// made: 'return ' + 'new '.repeat(16000) + 'Object'
// ends: defined
