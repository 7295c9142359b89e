// A chain of proxies so long that naive recursion in native code overflows (CVE-2021-40517).
// ends: defined
let proxy = { a: 1 };
for (let at = 0; at < 100000; at++) proxy = new Proxy(proxy, {});
try { return proxy.a; } catch { return 'refused'; }
