// ends: defined
const text = 'a'.repeat(200000);
return (text + 'b').indexOf(text.slice(1) + 'c');
