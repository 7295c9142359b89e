// ends: refused
throw null;
