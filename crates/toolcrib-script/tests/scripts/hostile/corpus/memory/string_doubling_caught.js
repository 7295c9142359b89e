// What is out of memory stays out of memory, also after it was caught.
// ends: limit|refused
let text = 'x'; const kept = [];
while (true) { try { text += text; kept.push(text + kept.length); } catch { text = 'x'.repeat(1000); } }
