// ends: value "fresh"
return globalThis.left ?? Object.prototype.left ?? Array.prototype.left ?? 'fresh';
