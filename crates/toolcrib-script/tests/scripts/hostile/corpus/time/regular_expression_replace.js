// ends: limit
return 'a'.repeat(100000).replace(/(a*)*b/g, 'x').length;
