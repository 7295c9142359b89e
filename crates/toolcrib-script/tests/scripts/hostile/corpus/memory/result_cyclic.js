// ends: refused
const value = { list: [] }; value.list.push(value);
return value;
