// Does what `structured_client.py` does, with the clients of the TypeScript SDK:
// `structured_client.mjs PACKAGES LIBRARY URL`.
//
// LIBRARY is as for `typescript_client.mjs`.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const CALLS = [
  ["shop__stock", { count: "3" }],
  ["shop__stock", { count: "20000" }],
  ["shop__stock", { count: "200000" }],
  ["shop__prices", { count: "3" }],
];

const [packages, library, url] = process.argv.slice(2);
const { resolve } = createRequire(join(packages, "package.json"));
const load = async (name) => import(pathToFileURL(resolve(name)));
const name = { name: "test", version: "1" };

async function connect() {
  if (library === "sdk") {
    const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const client = new Client(name);
    const way = new StreamableHTTPClientTransport(new URL(url));
    // The client tells its transport the revision, and nobody else.
    let revision;
    const told = way.setProtocolVersion?.bind(way);
    way.setProtocolVersion = (version) => {
      revision = version;
      told?.(version);
    };
    await client.connect(way);
    return { client, revision };
  }
  const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
  const client = new Client(name, { versionNegotiation: { mode: "auto" } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return { client, revision: client.getNegotiatedProtocolVersion() };
}

const { client, revision } = await connect();
const { tools } = await client.listTools();
const calls = [];
for (const [tool, args] of CALLS) {
  const result = await client.callTool({ name: tool, arguments: args });
  const structure = result.structuredContent;
  const linked = result.content.some((block) => block.type === "resource_link");
  calls.push([result.isError ?? false, structure ? structure.items.length : null, linked]);
}
const own = tools.filter((tool) => tool.name.startsWith("shop"));
const told = {
  revision,
  title: own.find((tool) => tool.name === "shop__stock").title,
  has_schema: Object.fromEntries(own.map((tool) => [tool.name, tool.outputSchema !== undefined])),
  calls,
};
await client.close();
console.log(JSON.stringify(told));
