// ends: limit
const kept = [];
for (let at = 0; ; at++) { const object = {}; for (let key = 0; key < 50; key++) object['k' + at + '_' + key] = 1; kept.push(object); }
