// ends: value "refused"
const dive = (depth) => dive(depth + 1) + 1;
try { return dive(0); } catch (error) { return 'refused'; }
