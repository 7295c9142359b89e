// ends: defined
function* own() { try { yield 1; } finally { try { yield 2; } finally { return 3; } } }
const generator = own();
generator.next();
return [generator.return(9), generator.return(9), generator.throw && generator.next()];
