// ends: defined
let value = 1;
for (let at = 0; at < 100000; at++) value = { value };
return value;
