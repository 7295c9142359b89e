// ends: refused
return import.meta.url;
