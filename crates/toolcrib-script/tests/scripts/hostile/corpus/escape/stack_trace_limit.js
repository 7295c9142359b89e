// ends: defined
Error.stackTraceLimit = { valueOf() { return 1e9; } };
Object.defineProperty(Error, 'stackTraceLimit', { get() { throw new Error('no'); } });
try { null.x; } catch (error) { return typeof error.stack; }
