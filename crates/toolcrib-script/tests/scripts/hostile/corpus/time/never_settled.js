// ends: limit
await new Promise(() => {});
