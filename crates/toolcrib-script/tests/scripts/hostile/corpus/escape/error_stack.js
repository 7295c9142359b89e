// Stacks name no path of the host (information leak in many vm2 reports).
// ends: value []
const found = [];
const stacks = [];
try { null.x; } catch (error) { stacks.push(error.stack); }
try { await tools.host.fail({}); } catch (error) { stacks.push(error.stack, error.message, JSON.stringify(error)); }
try { await tools.nothing.there({}); } catch (error) { stacks.push(error.stack, error.message); }
try { JSON.parse('{'); } catch (error) { stacks.push(error.stack); }
for (const stack of stacks) {
  if (/\.rs\b|\/root|\/home|\/usr|\/tmp|cargo|node_modules|0x[0-9a-f]{6}/.test(String(stack))) found.push(String(stack));
}
return found;
