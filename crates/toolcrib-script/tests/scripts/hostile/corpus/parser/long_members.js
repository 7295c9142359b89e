// made: 'return a' + '.b'.repeat(32000)
// ends: refused
