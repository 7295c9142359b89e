// ends: defined
try { globalThis.tools = { host: { echo: async () => 'own' } }; } catch {}
return 1;
