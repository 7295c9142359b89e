// made: 'return globalThis' + '?.b'.repeat(21000)
// ends: defined
