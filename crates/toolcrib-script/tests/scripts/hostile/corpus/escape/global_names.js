// The global object has the language and nothing else.
// ends: value []
const dangerous = ['process', 'require', 'module', 'exports', '__dirname', '__filename', 'global', 'window', 'self', 'std', 'os', 'bjson',
  'scriptArgs', 'print', 'load', 'loadFile', 'read', 'readFile', 'readline', 'quit', 'gc', 'Worker', 'fetch', 'XMLHttpRequest', 'WebSocket',
  'Deno', 'Bun', 'Duktape', 'java', 'Packages', 'importScripts', 'setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'navigator',
  'localStorage', 'indexedDB', 'document', 'alert', 'prompt', 'WebAssembly', '$262', 'jerry_port', 'assert'];
const allowed = ['queueMicrotask', 'setTimeout', 'self', 'global'];
return dangerous.filter((name) => !allowed.includes(name) && name in globalThis);
