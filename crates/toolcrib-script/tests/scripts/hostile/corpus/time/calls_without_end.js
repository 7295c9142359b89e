// Calls are counted, whatever the script does with their errors.
// ends: limit|value "counted"
let refused = 0;
for (let at = 0; at < 10000; at++) { try { await tools.host.echo({ at }); } catch { if (++refused > 1000) return 'counted'; } }
return 'all ran';
