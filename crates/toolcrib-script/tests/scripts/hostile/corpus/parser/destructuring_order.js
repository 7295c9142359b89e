// ends: defined
const seen = [];
const source = new Proxy({}, { get(_, key) { seen.push(String(key)); return undefined; }, has() { return true; } });
const { a = (seen.push('default'), 1), ...rest } = source;
return seen;
