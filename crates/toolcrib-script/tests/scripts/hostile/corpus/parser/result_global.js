// ends: defined
return globalThis;
