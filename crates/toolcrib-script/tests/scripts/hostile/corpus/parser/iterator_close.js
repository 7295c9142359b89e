// The method `return` of an iterator throws while another error is under way.
// ends: value "inner"
const iterable = { [Symbol.iterator]: () => ({ next: () => ({ value: 1, done: false }), return() { throw new Error('close'); } }) };
try { for (const value of iterable) throw new Error('inner'); } catch (error) { return error.message; }
