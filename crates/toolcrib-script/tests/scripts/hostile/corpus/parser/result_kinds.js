// What is not JSON becomes something that is, or an error.
// ends: defined
return { a: undefined, b: () => 1, c: Symbol('x'), d: NaN, e: new Date(NaN), f: new Map([[1, 2]]), g: /x/, h: -0, i: [undefined, , Symbol()] };
