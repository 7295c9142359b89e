// ends: limit
for (;;);
