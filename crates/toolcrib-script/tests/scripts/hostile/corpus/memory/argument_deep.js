// ends: defined
let value = 1;
for (let at = 0; at < 100000; at++) value = [value];
try { await tools.host.echo({ value }); return 'called'; } catch { return 'refused'; }
