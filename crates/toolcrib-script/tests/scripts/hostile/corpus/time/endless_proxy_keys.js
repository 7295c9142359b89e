// ends: defined
return new Proxy({}, { ownKeys: () => Array.from({ length: 1e5 }, (_, at) => 'k' + at), getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }) });
