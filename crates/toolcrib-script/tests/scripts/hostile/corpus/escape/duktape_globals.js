// ends: refused
return Duktape.act(-1).pc;
