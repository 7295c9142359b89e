// made: 'return ' + 'class extends '.repeat(4500) + 'Object{}' 
// ends: defined
