// CVE-2023-30547, CVE-2023-32314: errors that the host throws must be of the script's realm.
// ends: value []
const found = [];
const calls = [() => tools.host.fail({}), () => tools.nothing.there({}), () => tools.host.echo(), () => tools.host.echo(Symbol()), () => tools.host.echo(1n)];
for (const call of calls) {
  try { await call(); } catch (error) {
    if (!(error instanceof Error)) found.push('another realm');
    try {
      const host = error.constructor.constructor('return this')();
      if (host.process || host.std) found.push('host');
    } catch {}
  }
}
return found;
