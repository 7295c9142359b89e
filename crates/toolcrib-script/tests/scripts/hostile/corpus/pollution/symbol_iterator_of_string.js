// ends: value 1
String.prototype[Symbol.iterator] = function* () { while (true) yield 'x'; };
await tools.host.echo({ text: 'abc' });
return 1;
