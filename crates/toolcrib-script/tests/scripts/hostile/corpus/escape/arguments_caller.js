// ends: value []
const found = [];
function probe() {
  for (const key of ['caller', 'callee', 'arguments']) {
    try {
      const value = key === 'callee' ? arguments.callee : probe[key];
      if (value && value !== probe && typeof value === 'function') found.push(key);
    } catch {}
  }
}
probe();
return found;
