// ends: value "refused"
let generator;
function* own() { generator.next(); yield 1; }
generator = own();
try { return generator.next(); } catch { return 'refused'; }
