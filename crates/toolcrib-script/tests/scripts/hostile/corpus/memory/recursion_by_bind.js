// ends: defined
let call = () => 1;
for (let at = 0; at < 200000; at++) call = call.bind(null);
try { return call(); } catch { return 'refused'; }
