// ends: value "refused"
const object = { get [Symbol.iterator]() { const [first] = this; return first; } };
try { const [first] = object; return first; } catch { return 'refused'; }
