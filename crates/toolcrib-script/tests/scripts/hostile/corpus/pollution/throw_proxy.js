// ends: refused
throw new Proxy({}, { get() { throw new Proxy({}, { get() { throw 1; } }); } });
