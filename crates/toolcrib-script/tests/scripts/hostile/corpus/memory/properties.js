// ends: limit
const object = {};
for (let at = 0; ; at++) object['property_with_a_name_' + at] = at;
