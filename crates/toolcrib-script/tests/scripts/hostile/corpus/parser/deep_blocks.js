// made: '{'.repeat(32000) + '}'.repeat(32000)
// ends: defined
