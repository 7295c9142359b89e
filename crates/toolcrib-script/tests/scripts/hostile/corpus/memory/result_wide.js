// One small object that a naive writer of JSON expands to gigabytes.
// ends: defined
let value = { text: 'x' };
for (let at = 0; at < 40; at++) value = [value, value];
return value;
