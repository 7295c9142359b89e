// ends: limit
let chain = null;
while (true) { const held = chain; const data = new Array(100).fill(held); chain = () => [held, data]; }
