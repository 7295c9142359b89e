// CVE-2023-48184 and many others: lengths that wrap around.
// ends: value []
const found = [];
for (const length of [2 ** 31, 2 ** 32, 2 ** 32 + 1, 2 ** 53 - 1, -1, NaN, Infinity, '1e10', { valueOf() { return 2 ** 40; } }]) {
  for (const make of [Uint8Array, Float64Array, BigInt64Array, ArrayBuffer]) {
    try { const made = new make(length); if (made.byteLength > 2 ** 28) found.push(String(length)); } catch {}
  }
}
return found;
