// ends: defined
const value = {};
for (let at = 0; at < 100000; at++) value['key_' + at] = at;
try { await tools.host.echo(value); return 'called'; } catch { return 'refused'; }
