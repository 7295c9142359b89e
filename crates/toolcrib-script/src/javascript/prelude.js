// Runs before a script, in its context. Returns the function that settles a call. It uses no built-in that a script
// can replace: all are taken here, before the script runs.
((call, log, random, clock) => {
  'use strict';
  const { create, defineProperty, freeze } = Object;
  const construct = Reflect.construct;
  const NativePromise = Promise;
  const NativeProxy = Proxy;
  const NativeDate = Date;
  const waiting = create(null);

  class ToolError extends Error {
    constructor({ kind, message, hint, retryable }) {
      super(message);
      this.kind = kind;
      this.hint = hint;
      this.retryable = retryable;
    }
  }
  defineProperty(ToolError.prototype, 'name', { value: 'ToolError' });
  freeze(ToolError.prototype);
  freeze(ToolError);

  const invoke = (tool, args) => new NativePromise((resolve, reject) => {
    const id = call(tool, args);
    waiting[id] = { __proto__: null, resolve, reject };
  });

  const refuse = () => {
    throw new TypeError('`tools` cannot be changed');
  };
  // A value with `then` would be awaited as a promise.
  const member = (path) => new NativeProxy(() => {}, {
    __proto__: null,
    get: (_, key) => (typeof key !== 'string' || key === 'then' ? undefined : member(path ? `${path}.${key}` : key)),
    apply: (_target, _this, args) => invoke(path, args[0]),
    set: refuse,
    defineProperty: refuse,
    deleteProperty: refuse,
    setPrototypeOf: refuse,
    preventExtensions: refuse,
    getPrototypeOf: () => null,
    getOwnPropertyDescriptor: () => undefined,
    ownKeys: () => [],
  });

  function FrozenDate(...args) {
    if (!new.target) return new NativeDate(clock()).toString();
    return construct(NativeDate, args.length ? args : [clock()], new.target);
  }
  FrozenDate.prototype = NativeDate.prototype;
  defineProperty(NativeDate.prototype, 'constructor', { value: FrozenDate });
  FrozenDate.now = () => clock();
  FrozenDate.parse = NativeDate.parse;
  FrozenDate.UTC = NativeDate.UTC;
  defineProperty(globalThis, 'Date', { value: FrozenDate });
  defineProperty(Math, 'random', { value: random });

  const console = freeze({ __proto__: null, log, info: log, warn: log, error: log, debug: log });
  for (const [name, value] of [['console', console], ['tools', member('')], ['ToolError', ToolError]]) {
    defineProperty(globalThis, name, { value });
  }

  return (id, value, error) => {
    const call = waiting[id];
    delete waiting[id];
    if (call === undefined) return;
    if (error === undefined) call.resolve(value);
    else call.reject(new ToolError(error));
  };
})
