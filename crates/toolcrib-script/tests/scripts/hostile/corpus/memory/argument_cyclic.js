// ends: value "refused"
const value = {}; value.value = value;
try { await tools.host.echo(value); return 'called'; } catch { return 'refused'; }
