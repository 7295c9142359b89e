// ends: defined
for (const key of Reflect.ownKeys(globalThis)) try { Object.freeze(globalThis[key]); Object.freeze(globalThis[key].prototype); } catch {}
Object.freeze(globalThis);
const value = await tools.host.echo({ text: 'x' });
return value.text;
