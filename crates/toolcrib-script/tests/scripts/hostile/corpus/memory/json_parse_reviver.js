// A reviver that changes what is still to be read (CVE-2019-12749 and others).
// ends: defined
try { return JSON.parse('[1,2,[3,4],{"a":5}]', function (key, value) { if (Array.isArray(this)) { this.length = 0; this[9] = this; } return value; }); } catch { return 'refused'; }
