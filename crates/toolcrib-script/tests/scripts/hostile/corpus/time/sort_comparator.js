// A comparator that contradicts itself and changes the list (CVE-2020-8596 of several engines).
// ends: defined
const list = Array.from({ length: 1000 }, (_, at) => at);
let calls = 0;
list.sort(() => { calls++; if (calls === 50) list.length = 0; if (calls === 60) list.push(...Array(5000).fill(1)); return calls % 3 - 1; });
return list.length;
