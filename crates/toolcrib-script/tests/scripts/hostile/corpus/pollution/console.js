// ends: value 1
try { console.log = () => { throw new Error('tampered'); }; } catch {}
try { globalThis.console = null; } catch {}
try { Object.getPrototypeOf(console.log).call = null; } catch {}
await tools.host.echo({});
return 1;
