// ends: defined
return Array.from({ length: 300000 }, (_, at) => (at * 7919) % 300007).sort((a, b) => { let x = 0; for (let i = 0; i < 100; i++) x += i; return a - b + x - 4950; }).length;
