// ends: defined
try {
  const buffer = new ArrayBuffer(8, { maxByteLength: 2 ** 40 });
  const view = new Uint8Array(buffer);
  buffer.resize(2 ** 39);
  return view.length;
} catch { return 'refused'; }
