// made: Array.from({ length: 9000 }, (_, at) => 'l' + at + ':').join('') + ';'
// ends: defined
