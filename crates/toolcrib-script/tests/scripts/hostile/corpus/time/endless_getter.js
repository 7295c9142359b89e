// ends: limit
return { get value() { while (true) {} } };
