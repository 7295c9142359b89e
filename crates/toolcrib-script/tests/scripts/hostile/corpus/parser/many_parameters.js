// made: 'return ((' + Array.from({ length: 9000 }, (_, at) => 'a' + at).join() + ') => 1)()'
// ends: defined
