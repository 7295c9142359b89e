// ends: defined
const object = { [Symbol.toPrimitive]: (hint) => hint, [Symbol.toStringTag]: 'Process', get [Symbol.unscopables]() { return 1; } };
return [`${object}`, String(Object.prototype.toString.call(object)), Symbol.for('x') === Symbol.for('x')];
