// ends: defined
for (let at = 0; at < 100000; at++) console.log('x'.repeat(1000), at);
return 1;
