// ends: value "refused"
const object = { toString() { return '' + this; } };
try { return String(object); } catch { return 'refused'; }
