// ends: defined
try { return (await Promise.all(Array.from({ length: 1000000 }, (_, at) => at))).length; } catch { return 'refused'; }
