// made: 'return "a\u0000b".length;\u0000'
// ends: defined
