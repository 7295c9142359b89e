// A minimal host of MCP Apps: a page in a browser, on the official SDK, before an MCP server behind a URL.
//
// node app_host.mjs NODE_MODULES SERVER_URL prints the address of the page. The page calls the first tool with a user
// interface, and shows the user interface in a sandbox of another origin. A button in it is pressed, as a user would.
// Then a line of JSON says what the user interface shows, and only then the page counts as loaded, so that a browser
// takes its screenshot.
import { createReadStream } from "node:fs";
import http from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";

const [modules, server] = process.argv.slice(2);
const own = path.dirname(fileURLToPath(import.meta.url));
const types = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript" };

let finish;
const finished = new Promise((resolve) => (finish = resolve));

function send(response, root, name) {
  const file = path.resolve(root, name);
  const type = types[path.extname(file)];
  if (!type || !file.startsWith(path.resolve(root) + path.sep)) return response.writeHead(404).end();
  response.setHeader("content-type", type);
  createReadStream(file)
    .on("error", () => response.writeHead(404).end())
    .pipe(response);
}

async function read(request) {
  let body = "";
  for await (const chunk of request) body += chunk;
  return body;
}

// The page calls the server under its own origin.
async function forward(request, response) {
  const { host, origin, connection, "content-length": _, ...headers } = request.headers;
  const body = request.method === "POST" ? await read(request) : undefined;
  const answer = await fetch(server, { method: request.method, headers, body });
  const { "content-encoding": _encoding, "transfer-encoding": _transfer, ...kept } = Object.fromEntries(answer.headers);
  response.writeHead(answer.status, kept);
  for await (const chunk of answer.body ?? []) response.write(chunk);
  response.end();
}

const page = http.createServer(async (request, response) => {
  const { pathname } = new URL(request.url, "http://host");
  try {
    if (pathname === "/mcp") {
      await forward(request, response);
    } else if (pathname === "/report") {
      console.log(await read(request));
      finish();
      response.end();
    } else if (pathname === "/finished.png") {
      await finished;
      response.end();
    } else if (pathname.startsWith("/modules/")) {
      send(response, modules, pathname.slice("/modules/".length));
    } else {
      send(response, own, pathname === "/sandbox" ? "app_sandbox.html" : "app_host.html");
    }
  } catch (error) {
    console.error(error);
    response.writeHead(502).end();
  }
});

page.listen(0, "127.0.0.1", () => console.log(`http://localhost:${page.address().port}/`));
