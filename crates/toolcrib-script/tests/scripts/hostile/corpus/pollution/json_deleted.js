// ends: defined
delete globalThis.JSON;
delete globalThis.Object;
delete globalThis.Array;
delete globalThis.String;
const value = await tools.host.echo({ text: 'x' });
return value.text;
