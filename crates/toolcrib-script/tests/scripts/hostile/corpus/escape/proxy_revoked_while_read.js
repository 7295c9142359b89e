// The argument is revoked by the getter that the host reads (use-after-free in QuickJS and mujs reports).
// ends: defined
const pair = Proxy.revocable({ a: 1, get b() { pair.revoke(); return 2; }, c: 3 }, {});
try { await tools.host.echo(pair.proxy); return 'called'; } catch { return 'refused'; }
