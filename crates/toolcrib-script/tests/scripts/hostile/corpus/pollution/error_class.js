// ends: defined
globalThis.Error = function () { throw 1; };
globalThis.TypeError = null;
globalThis.ToolError = null;
try { await tools.host.fail({}); return 'no'; } catch (error) { return typeof error; }
