// The clock of a script does not move, so that it measures nothing.
// ends: value true
const start = Date.now();
for (let at = 0; at < 1e6; at++);
return Date.now() - start === 0 && (typeof performance === 'undefined' || performance.now() - performance.now() === 0);
