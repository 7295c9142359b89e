// made: 'switch (1) {' + Array.from({ length: 6000 }, (_, at) => 'case ' + at + ':').join('') + '}'
// ends: defined
