// ends: value "refused"
const dive = (text) => text.replace(/x/, () => dive('x'));
try { return dive('x'); } catch { return 'refused'; }
