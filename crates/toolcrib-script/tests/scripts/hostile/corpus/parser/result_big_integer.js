// ends: defined
return { value: 12345678901234567890n };
