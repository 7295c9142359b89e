// Names that look like `tools` are other names.
// made: 'try { return await t\u043eols.host.denied({}); } catch { return "refused"; }'
// ends: value "refused"
