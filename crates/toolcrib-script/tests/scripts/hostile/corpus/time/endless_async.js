// ends: limit
const again = async () => { while (true) await null; };
await again();
