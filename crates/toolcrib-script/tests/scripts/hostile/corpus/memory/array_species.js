// ends: defined
const list = Array.from({ length: 1000 }, (_, at) => at);
list.constructor = { [Symbol.species]: function () { return new Proxy([], { defineProperty() { list.length = 0; return true; }, set() { list.length = 0; return true; } }); } };
try { return list.splice(0, 500).length + list.map((value) => value).length; } catch { return 'refused'; }
