// A tool that is denied is not called under any spelling.
// ends: value "refused"
const spellings = [
  () => tools.host.denied({}), () => tools['host']['denied']({}), () => tools['host.denied']({}), () => tools['host::denied']({}),
  () => tools.Host.Denied({}), () => tools.host['den' + 'ied']({}), () => tools['HOST'].DENIED({}), () => tools.host.denied.call(null, {}),
  () => Reflect.apply(tools.host.denied, undefined, [{}]), () => tools.context_builder.execute_tool({ name: 'host.denied', params: {} }),
];
for (const call of spellings) {
  try { return { called: await call() }; } catch {}
}
return 'refused';
