// Function constructors of every kind reach no more than the script does (vm2 GHSA-cchq-frgv-rjh5 and others).
// ends: value []
const kinds = [
  () => (function () {}).constructor,
  () => (() => {}).constructor,
  () => (async () => {}).constructor,
  () => (function* () {}).constructor,
  () => (async function* () {}).constructor,
  () => [].at.constructor,
  () => Object.getPrototypeOf(class {}).constructor,
  () => tools.host.echo.constructor,
  () => console.log.constructor,
  () => Promise.resolve().then.constructor,
];
const names = ['process', 'require', 'module', 'std', 'os', 'bjs', 'Deno', 'Bun', 'window', 'fetch', 'XMLHttpRequest', 'WebAssembly'];
const found = [];
for (const [at, kind] of kinds.entries()) {
  for (const name of names) {
    try {
      let value = kind()('return typeof ' + name)();
      if (value && typeof value.then === 'function') value = await value;
      if (value && typeof value.next === 'function') value = (await value.next()).value;
      if (value !== 'undefined') found.push(at + ': ' + name + ' is ' + value);
    } catch {}
  }
}
return found;
