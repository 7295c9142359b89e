// ends: value []
const found = [];
for (const name of ['fs', 'node:fs', 'std', 'os', 'qjs:std', 'qjs:os', './x.js', '/etc/passwd', 'file:///etc/passwd', 'http://127.0.0.1/', 'data:text/javascript,export default 1', '']) {
  try {
    const module = await import(name);
    found.push(name + ': ' + Object.keys(module));
  } catch {}
}
return found;
