// ends: limit|refused
let text = 'x';
while (true) text += text;
