// `valueOf` of an index detaches the buffer that is written (CVE-2017-5030 and others).
// ends: defined
const view = new Uint32Array(1 << 16);
try {
  view.fill({ valueOf() { if (view.buffer.transfer) view.buffer.transfer(0); return 0x41414141; } }, 0, 1 << 16);
  return view.length;
} catch { return 'refused'; }
