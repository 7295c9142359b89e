// ends: value "x"
for (const name of ['push', 'map', 'join', 'forEach', 'concat', 'slice', 'splice', 'indexOf', 'includes', 'entries', 'values']) {
  Array.prototype[name] = () => { throw new Error('tampered ' + name); };
}
Array.prototype[Symbol.iterator] = () => { throw new Error('tampered iterator'); };
const value = await tools.host.echo({ text: 'x' });
return value.text;
