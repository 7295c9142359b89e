// ends: defined
const list = []; list[1e8] = 1;
try { await tools.host.echo({ list }); return 'called'; } catch { return 'refused'; }
