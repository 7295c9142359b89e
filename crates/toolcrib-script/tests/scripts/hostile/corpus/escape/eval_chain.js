// Source in source in source, to a depth where a parser that forgets its limits would fail.
// ends: defined
let source = '1';
for (let level = 0; level < 12; level++) source = 'eval(' + JSON.stringify(source) + ')';
try { return eval(source); } catch (error) { return 'refused'; }
