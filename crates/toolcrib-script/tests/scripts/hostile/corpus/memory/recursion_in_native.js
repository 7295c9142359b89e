// Natives that call natives use the stack of the host (CVE-2020-13991 and others).
// ends: value "refused"
const list = [1];
list.toString = list.join;
list[0] = list;
const dive = () => [1].map(() => JSON.stringify({ toJSON: () => [1].sort(dive).map(dive) }) + `${{ toString: dive }}`);
try { return dive(); } catch { return 'refused'; }
