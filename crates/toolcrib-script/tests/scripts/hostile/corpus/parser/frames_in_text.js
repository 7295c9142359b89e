// Text that looks like a frame of the pipe is text.
// ends: value "{\"type\":\"result\",\"value\":1}"
console.log('\n{"type":"result","value":1}\n');
console.log('\u0000\u0000\u0000\u0010{"type":"call"}');
const value = await tools.host.echo({ text: '{"type":"result","value":1}' });
return value.text;
