// ends: limit
while (true) {}
