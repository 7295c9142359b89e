// ends: defined
const error = new Error('x');
Object.defineProperty(error, 'message', { get() { throw new Error('in message'); } });
Object.defineProperty(error, 'stack', { get() { while (true) {} } });
Object.defineProperty(error, 'name', { get() { return { toString() { throw 1; } }; } });
throw error;
