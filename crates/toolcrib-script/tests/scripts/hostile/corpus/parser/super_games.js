// ends: defined
class A { constructor() { this.x = super.constructor; } }
class B extends A { constructor() { const later = () => super(); try { later(); later(); } catch {} return this; } }
try { return typeof new B().x; } catch { return 'refused'; }
