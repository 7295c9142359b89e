// ends: defined
return new Proxy({ a: 1, b: { c: [1, 2] } }, { get(target, key) { return key === 'a' ? globalThis : Reflect.get(target, key); } });
