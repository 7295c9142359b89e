// ends: defined
const text = '\ud800' + 'x' + '\udfff';
try { await tools.host.echo({ text, ['\udc00']: 1 }); } catch {}
console.log(text);
return { text, ['\ud800']: text };
