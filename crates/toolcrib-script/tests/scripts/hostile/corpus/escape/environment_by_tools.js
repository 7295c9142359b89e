// ends: value []
const found = [];
for (const value of [await tools.host.echo({}), tools, console]) {
  const text = JSON.stringify(value) ?? '';
  if (/HOME|PATH=|OPENAI|SECRET|TOOLCRIB/.test(text)) found.push(text.slice(0, 80));
}
return found;
