// ends: defined
throw { toString() { return 'x'.repeat(1 << 24); }, message: 'y'.repeat(1 << 24) };
