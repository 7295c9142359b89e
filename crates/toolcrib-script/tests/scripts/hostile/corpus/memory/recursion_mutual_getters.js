// ends: value "refused"
const object = { get a() { return this.b; }, get b() { return this.a; } };
try { return object.a; } catch { return 'refused'; }
