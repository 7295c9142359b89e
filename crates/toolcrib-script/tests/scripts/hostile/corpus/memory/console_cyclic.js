// ends: value 1
const a = {}; a.a = a; a.list = [a, a];
console.log(a, a, new Proxy(a, {}), new Map([[a, a]]));
return 1;
