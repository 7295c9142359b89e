// ends: refused
const fail = () => { throw new Error('trap'); };
return new Proxy({}, { get: fail, ownKeys: fail, has: fail, getOwnPropertyDescriptor: fail, getPrototypeOf: fail });
