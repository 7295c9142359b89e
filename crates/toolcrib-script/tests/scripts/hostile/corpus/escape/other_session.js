// Nothing that one script leaves is there for the next.
// ends: value "fresh"
const before = globalThis.left ?? Object.prototype.left ?? Array.prototype.left ?? 'fresh';
globalThis.left = Object.prototype.left = Array.prototype.left = 'stale';
const result = before;
delete Object.prototype.left;
delete Array.prototype.left;
return result;
