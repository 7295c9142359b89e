// ends: value "x"
const echo = tools.host.echo;
try { tools.host.echo = async () => 'own'; } catch {}
try { tools.host = null; } catch {}
try { Object.defineProperty(tools, 'host', { get() { throw new Error('tampered'); } }); } catch {}
try { Object.setPrototypeOf(tools, null); } catch {}
const value = await echo({ text: 'x' });
return value.text;
