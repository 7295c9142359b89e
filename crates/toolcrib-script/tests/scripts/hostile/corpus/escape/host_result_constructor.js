// Results of tools are objects of the script.
// ends: value true
const value = await tools.host.echo({ list: [1, { a: 2 }], text: 'x' });
return Object.getPrototypeOf(value) === Object.prototype && Object.getPrototypeOf(value.list) === Array.prototype;
