// `Symbol.species` gives a shorter array than the method writes (CVE-2016-4622 and others).
// ends: defined
class Short extends Float64Array { static get [Symbol.species]() { return function () { return new Float64Array(1); }; } }
try { return new Short(1000).slice(0, 1000).length + new Short(1000).map((value) => value).length; } catch { return 'refused'; }
