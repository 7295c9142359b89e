// ends: defined
const proxy = new Proxy({}, { getPrototypeOf() { return proxy; } });
try { return proxy instanceof Array; } catch { return 'refused'; }
