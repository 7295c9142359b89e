// GHSA-99p7-6v5w-7xg8: `Symbol.species` of a promise takes over what the host resolves.
// ends: value []
const found = [];
const promise = tools.host.echo({ a: 1 });
class Spy {
  constructor(executor) {
    executor((value) => { try { if (value.constructor.constructor('return this')().process) found.push('process'); } catch {} }, () => {});
  }
  static get [Symbol.species]() { return Spy; }
}
try { promise.constructor = { [Symbol.species]: Spy }; promise.then((value) => value); } catch {}
await tools.host.echo({ a: 1 });
return found;
