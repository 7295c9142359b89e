// ends: limit
const loop = () => Promise.resolve().then(loop);
await loop();
