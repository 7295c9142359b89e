// A result with a method `then` is data for the host.
// ends: defined
return { then(resolve, reject) { resolve({ then(next) { next('inner'); } }); } };
