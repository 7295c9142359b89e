// ends: limit
return { then() {} };
