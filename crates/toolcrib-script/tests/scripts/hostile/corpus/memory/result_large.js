// ends: defined
return 'x'.repeat(4 * 1024 * 1024);
