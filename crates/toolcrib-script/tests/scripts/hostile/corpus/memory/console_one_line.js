// ends: defined
console.log('x'.repeat(8 * 1024 * 1024));
console.log({ get a() { return 'x'.repeat(1 << 22); } }, Array(100000).fill({ a: 1 }));
return 1;
