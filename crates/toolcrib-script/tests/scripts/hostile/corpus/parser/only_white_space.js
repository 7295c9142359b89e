// made: '\u2028\u2029\ufeff\u00a0\u3000'.repeat(4500)
// ends: defined
