// ends: defined
let calls = 0;
const argument = { then(resolve) { calls++; resolve(1); } };
try { await tools.host.echo({ value: argument }); } catch {}
return calls;
