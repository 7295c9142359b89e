// ends: refused
throw Symbol('x');
