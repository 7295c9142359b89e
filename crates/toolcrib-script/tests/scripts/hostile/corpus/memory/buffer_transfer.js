// ends: defined
try {
  const buffer = new ArrayBuffer(64);
  const view = new DataView(buffer);
  const moved = buffer.transfer ? buffer.transfer(1 << 20) : structuredClone(buffer, { transfer: [buffer] });
  view.setFloat64(0, 1);
  return moved.byteLength;
} catch { return 'refused'; }
