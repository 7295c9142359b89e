// A host function that calls back must not show itself (isolated-vm, vm2).
// ends: value []
const found = [];
const spy = function spy() {
  try { if (spy.caller) found.push(String(spy.caller)); } catch {}
  try { if (arguments.callee.caller) found.push('callee'); } catch {}
  return 'x';
};
await tools.host.echo({ value: { toString: spy } }).catch(() => null);
console.log({ toString: spy, toJSON: spy });
[1, 2].sort(spy);
return found;
