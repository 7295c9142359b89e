// made: 'return ((...all) => all.length)(' + '1,'.repeat(32000) + '1)'
// ends: defined
