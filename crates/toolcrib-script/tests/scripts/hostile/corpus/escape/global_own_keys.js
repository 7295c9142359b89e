// No own property of the global object, shown or hidden, leads to the host.
// ends: value []
const found = [];
for (const key of Reflect.ownKeys(globalThis)) {
  const text = String(key).toLowerCase();
  if (/process|require|file|socket|environ|exec|spawn|module|host/.test(text)) found.push(text);
}
return found;
