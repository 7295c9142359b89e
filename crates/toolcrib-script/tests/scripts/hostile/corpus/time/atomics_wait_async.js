// ends: defined
try { return await Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(8)), 0, 0).value; } catch { return 'refused'; }
