// ends: limit
let value = 1n;
for (let at = 1n; ; at++) value *= at;
