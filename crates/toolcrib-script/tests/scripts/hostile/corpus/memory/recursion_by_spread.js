// ends: value "refused"
const dive = (...all) => dive(...all, ...all);
try { return dive(1, 2, 3); } catch { return 'refused'; }
