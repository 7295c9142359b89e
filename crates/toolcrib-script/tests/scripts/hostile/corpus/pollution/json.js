// The host does not read or write with the `JSON` of the script.
// ends: value "x"
const { stringify, parse } = JSON;
JSON.stringify = () => '{"tool":"host.denied"}';
JSON.parse = () => ({ text: 'tampered' });
const value = await tools.host.echo({ text: 'x' });
JSON.stringify = stringify;
JSON.parse = parse;
return value.text;
