// `toJSON` gives another object with `toJSON`.
// ends: defined
const chain = () => ({ toJSON: chain, next: { toJSON: chain } });
return chain();
