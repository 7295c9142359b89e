// ends: refused
return process.env;
