// ends: defined
class Own { static #x = Own.steal(); static steal() { try { return Own.#x; } catch { return 'early'; } } static get x() { return Own.#x; } static { this.y = Own.#x; } }
class Other extends (function () { return Own; }) { constructor() { return new Proxy(super() ?? {}, {}); } #z = 1; z() { return this.#z; } }
try { return [Own.x, Own.y, new Other().z()]; } catch { return 'refused'; }
