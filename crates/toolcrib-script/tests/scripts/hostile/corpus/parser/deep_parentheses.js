// Nesting that overflows a recursive parser (CVE-2020-22885, CVE-2021-26195 and others).
// made: 'return ' + '('.repeat(30000) + '1' + ')'.repeat(30000)
// ends: defined
