// CVE-2024-33263 and others: big integers.
// ends: defined
try { return String(2n ** 100000000n).length; } catch { return 'refused'; }
