// ends: value "x"
Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => { throw new Error('tampered'); };
try { Object.defineProperty(Function.prototype, Symbol.hasInstance, { value: () => true, configurable: true }); } catch {}
const value = await tools.host.echo({ text: 'x' });
return value.text;
