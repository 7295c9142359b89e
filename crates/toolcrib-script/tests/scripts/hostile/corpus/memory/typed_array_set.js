// ends: defined
const view = new Uint8Array(64);
try { view.set({ length: 2 ** 32, 0: 1 }, 60); return 'set'; } catch { return 'refused'; }
