// ends: limit
const calls = [1, 2, 3].map((value) => tools.host.slow({ value }));
while (true) {}
