// ends: value "x"
for (const name of Object.getOwnPropertyNames(Reflect)) try { Reflect[name] = () => { throw new Error('tampered'); }; } catch {}
for (const name of ['keys', 'entries', 'assign', 'freeze', 'create', 'defineProperty', 'getPrototypeOf']) Object[name] = () => { throw new Error('tampered'); };
const value = await tools.host.echo({ text: 'x' });
return value.text;
