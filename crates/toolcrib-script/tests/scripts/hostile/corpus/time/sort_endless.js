// ends: limit
[3, 1, 2].sort(() => { while (true) {} });
