// ends: defined
for (const name of ['undefined', 'NaN', 'Infinity', 'globalThis', 'Promise', 'Symbol', 'Map']) {
  try { Object.defineProperty(globalThis, name, { get() { throw new Error('tampered'); } }); } catch {}
}
try { const value = await tools.host.echo({ text: 'x' }); return value.text; } catch { return 'refused'; }
