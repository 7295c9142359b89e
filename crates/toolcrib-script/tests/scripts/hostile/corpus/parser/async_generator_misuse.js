// An async generator that is driven from within itself (QuickJS issues on generators).
// ends: defined
const seen = [];
async function* own() { try { seen.push(await generator.next()); yield 1; } finally { generator.return(2); generator.throw(new Error('x')); yield 3; } }
const generator = own();
setImmediateLike();
function setImmediateLike() { generator.return(1); generator.next(); }
try { for await (const value of generator) seen.push(value); } catch {}
return seen.length;
