// ends: defined
try { await tools.host.echo({ text: 'x'.repeat(4 * 1024 * 1024) }); return 'called'; } catch { return 'refused'; }
