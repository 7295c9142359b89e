// The source is wrapped in a function by the runtime: it must not close the function and write outside of it.
// What it writes there is a script like any other.
// ends: defined
return 1; }); globalThis.leaked = 1; (async () => {
