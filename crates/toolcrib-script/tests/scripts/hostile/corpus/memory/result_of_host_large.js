// Large results of tools count as memory of the script.
// ends: defined
const kept = [];
try { for (let at = 0; at < 50; at++) kept.push(await tools.host.large({})); return kept.length; } catch { return 'refused'; }
