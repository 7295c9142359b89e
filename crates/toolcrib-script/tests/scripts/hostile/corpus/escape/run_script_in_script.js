// ends: value "refused"
for (const call of [() => tools.context_builder.run_script({ source: 'return 1' }), () => tools.run_script({ source: 'return 1' })]) {
  try { return await call(); } catch {}
}
return 'refused';
