// ends: limit
return [...{ [Symbol.iterator]() { return { next: () => ({ done: false }) }; } }];
