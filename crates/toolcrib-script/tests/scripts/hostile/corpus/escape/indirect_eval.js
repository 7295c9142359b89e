// ends: value []
const found = [];
for (const call of [() => eval, () => (0, eval), () => globalThis['ev' + 'al'], () => Reflect.get(globalThis, 'eval')]) {
  try {
    const run = call();
    for (const name of ['process', 'require', 'std', 'os', 'Deno']) {
      if (run('typeof ' + name) !== 'undefined') found.push(name);
    }
  } catch {}
}
return found;
