// Drives a served app with the clients of the TypeScript SDK: `typescript_client.mjs PACKAGES LIBRARY TRANSPORT TARGET...`.
//
// PACKAGES is the folder that the clients are installed in. LIBRARY is `client`, which speaks 2026-07-28, or `sdk`, which
// shakes hands as before. The rest is as for `mcp_client.py`.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const PATIENCE_MS = 30_000;

const [packages, library, transport, ...target] = process.argv.slice(2);
const { resolve } = createRequire(join(packages, "package.json"));
const load = async (name) => import(pathToFileURL(resolve(name)));
const asked = [];

/// What the user says: yes to all but what is about a refund.
const answer = ({ params }) => {
  asked.push(params.message.split("\n")[0]);
  return params.message.includes("refund") ? { action: "decline" } : { action: "accept", content: {} };
};

async function connect() {
  const name = { name: "test", version: "1" };
  const capabilities = { elicitation: {} };
  const command = { command: target[0], args: target.slice(1), env: process.env };
  if (library === "sdk") {
    const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
    const { ElicitRequestSchema } = await load("@modelcontextprotocol/sdk/types.js");
    const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
    const { StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const client = new Client(name, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, answer);
    const way =
      transport === "stdio" ? new StdioClientTransport(command) : new StreamableHTTPClientTransport(new URL(target[0]));
    // The client tells its transport the revision, and nobody else.
    let revision;
    const told = way.setProtocolVersion?.bind(way);
    way.setProtocolVersion = (version) => {
      revision = version;
      told?.(version);
    };
    await client.connect(way);
    const callTool = (params, options) => client.callTool(params, undefined, options);
    return { client, callTool, revision };
  }
  const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
  const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
  const client = new Client(name, { capabilities, versionNegotiation: { mode: "auto" } });
  client.setRequestHandler("elicitation/create", answer);
  const way =
    transport === "stdio" ? new StdioClientTransport(command) : new StreamableHTTPClientTransport(new URL(target[0]));
  await client.connect(way);
  const callTool = (params, options) => client.callTool(params, options);
  return { client, callTool, revision: client.getNegotiatedProtocolVersion() };
}

const textOf = (result) =>
  result.content.filter((block) => block.type === "text").map((block) => block.text).join("");

async function waitUntil(holds, what) {
  const end = Date.now() + PATIENCE_MS;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await pause(20);
  }
}

function isAlive(id) {
  try {
    process.kill(id, 0);
    return true;
  } catch {
    return false;
  }
}

const { client, callTool, revision } = await connect();
const call = (name, args, options) => callTool({ name, arguments: args }, options);
const told = { revision, tools: (await client.listTools()).tools.map((tool) => tool.name) };
told.found = JSON.parse(textOf(await call("search_tools", { query: "what an item costs" }))).results[0].split("(")[0];
told.called = textOf(await call(told.found, { item: "lamp" }));
told.executed = textOf(await call("execute_tool", { name: "shop.price", params: { item: "lamp" } }));
const wrong = await call("shop.price", {});
told.wrong = [wrong.isError, JSON.parse(textOf(wrong)).kind];
told.approved = textOf(await call("shop.order", { item: "lamp" }));
const denied = await call("shop.refund", { item: "lamp" });
told.denied = [denied.isError, JSON.parse(textOf(denied)).kind];
told.asked = asked;

const controller = new AbortController();
const slow = call("shop.slow", {}, { signal: controller.signal }).then(
  () => false,
  () => true,
);
const started = process.env.STARTED;
await waitUntil(() => existsSync(started), "the slow call");
const id = Number(readFileSync(started, "utf8"));
told.running = isAlive(id);
controller.abort("no longer wanted");
told.cancelled = await slow;
await waitUntil(() => !isAlive(id), "the end of what was cancelled");
told.afterwards = textOf(await call("shop.price", { item: "lamp" }));

const large = await call("shop.catalogue", {});
const { uri } = large.content.find((block) => block.type === "resource_link");
const first = await client.readResource({ uri });
const second = await client.readResource({ uri: `${uri}?page=2` });
const page = await call("read_result", { handle: uri.split("/").pop(), page: 2 });
told.large = {
  is_bounded: textOf(large).length < 50_000,
  resource: first.contents[0].text.split("lamp").length > 100,
  next: second.contents[0].text.includes("lamp"),
  handle: textOf(page).includes("lamp"),
};
await client.close();
console.log(JSON.stringify(told));
