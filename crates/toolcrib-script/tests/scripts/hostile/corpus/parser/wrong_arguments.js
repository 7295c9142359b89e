// ends: value []
const found = [];
const argument = [[], [null], [undefined], ['text'], [1], [[1, 2]], [() => 1], [new Map()], [new Date()], [{}, {}], [Symbol('x')], [1n], [NaN], [{ a: undefined }]];
for (const all of argument) {
  try { await tools.host.strict(...all); found.push(String(all.length)); } catch (error) { if (!(error instanceof Error)) found.push('not an error'); }
}
return found;
