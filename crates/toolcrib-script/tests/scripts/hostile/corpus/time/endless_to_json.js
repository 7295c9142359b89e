// ends: limit
return { toJSON() { while (true) {} } };
