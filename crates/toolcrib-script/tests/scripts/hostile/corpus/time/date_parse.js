// ends: defined
return [Date.parse('9'.repeat(1e6)), new Date(8.64e15 + 1).getTime(), Date.parse('+275760-09-13T00:00:00.001Z')].every(Number.isNaN);
