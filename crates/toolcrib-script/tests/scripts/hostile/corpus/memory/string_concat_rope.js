// A rope of strings that is flattened at last.
// ends: defined
let text = 'ab';
try { for (let at = 0; at < 27; at++) text = text + text + 'x'; return text.charCodeAt(5); } catch { return 'refused'; }
