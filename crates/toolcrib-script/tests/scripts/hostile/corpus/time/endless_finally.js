// ends: limit
outer: while (true) { try { throw 1; } finally { continue outer; } }
