// ends: defined
return [Promise.resolve(1), Promise.reject(new Error('x')).catch(() => 1), (async () => 1)()];
