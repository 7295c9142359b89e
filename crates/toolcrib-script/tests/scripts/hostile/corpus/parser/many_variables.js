// made: Array.from({ length: 5500 }, (_, at) => 'var v' + at).join(';')
// ends: defined
