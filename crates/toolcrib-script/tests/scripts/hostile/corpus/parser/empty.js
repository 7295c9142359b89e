// made: ''
// ends: defined
