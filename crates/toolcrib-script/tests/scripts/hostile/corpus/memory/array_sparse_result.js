// ends: defined
const list = []; list[1e9] = 1;
return list;
