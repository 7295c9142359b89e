// ends: defined
Promise.reject(new Error('nobody waits'));
(async () => { throw new Error('nor here'); })();
return 1;
