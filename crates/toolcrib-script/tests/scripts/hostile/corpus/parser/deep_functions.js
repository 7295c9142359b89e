// made: '(function(){'.repeat(4000) + '})()'.repeat(4000)
// ends: defined
