// ends: defined
a: for (;;) { b: for (;;) { c: { break b; } } break a; }
d: { e: { break d; } }
return 1;
