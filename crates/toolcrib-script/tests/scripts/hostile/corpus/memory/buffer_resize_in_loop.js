// A buffer that shrinks while it is iterated (CVE-2023-4355 and others).
// ends: defined
try {
  const buffer = new ArrayBuffer(4096, { maxByteLength: 1 << 16 });
  const view = new Uint8Array(buffer);
  view.fill(7);
  return view.map((value, at) => { if (at === 10) buffer.resize(16); if (at === 12) buffer.resize(1 << 16); return value; }).length;
} catch { return 'refused'; }
