// made: 'return 1;' + '/'.repeat(2) + 'x'.repeat(70000)
// ends: refused|limit
