// ends: defined
return [new String('x'), new Number(1), Object(1n), Object(Symbol('x')), new Boolean(false)];
