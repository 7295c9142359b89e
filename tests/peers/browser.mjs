// A browser that a test drives by lines of JSON: one command on standard input, one answer on standard output.
//
//   {"goto": URL}                        loads a page
//   {"evaluate": EXPRESSION}             answers with its value, after its promise has settled
//   {"key": KEY}                         presses a key
//   {"click": SELECTOR}                  clicks an element like a person, which permits sound
//   {"size": [WIDTH, HEIGHT, DARK]}      sets the size of the window and the color scheme
//   {"screenshot": PATH, "full": BOOL}   writes a picture of the window, or of the whole page

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [program, profile] = process.argv.slice(2);
const browser = spawn(program, [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--hide-scrollbars",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--remote-debugging-port=0",
  `--user-data-dir=${profile}`,
  "about:blank",
], { stdio: ["ignore", "ignore", "pipe"] });

const address = await new Promise((resolve, reject) => {
  browser.once("exit", (code) => reject(new Error(`the browser has ended with ${code}`)));
  createInterface({ input: browser.stderr }).on("line", (line) => {
    const found = line.match(/^DevTools listening on (ws:.*)$/);
    if (found) resolve(found[1]);
  });
});

const socket = new WebSocket(address);
await new Promise((resolve) => socket.addEventListener("open", resolve));
const answers = new Map();
const listeners = new Set();
let session;
let last = 0;
socket.addEventListener("message", ({ data }) => {
  const message = JSON.parse(data);
  if (message.id) {
    const { resolve, reject } = answers.get(message.id);
    answers.delete(message.id);
    if (message.error) reject(new Error(message.error.message));
    else resolve(message.result);
    return;
  }
  for (const listener of listeners) listener(message.method);
});

function send(method, params = {}) {
  last += 1;
  socket.send(JSON.stringify({ id: last, method, params, ...(session && { sessionId: session }) }));
  return new Promise((resolve, reject) => answers.set(last, { resolve, reject }));
}

function event(name) {
  return new Promise((resolve) => {
    const listener = (method) => {
      if (method === name) {
        listeners.delete(listener);
        resolve();
      }
    };
    listeners.add(listener);
  });
}

const { targetId } = await send("Target.createTarget", { url: "about:blank" });
({ sessionId: session } = await send("Target.attachToTarget", { targetId, flatten: true }));
await send("Page.enable");

const commands = {
  async goto({ goto: url }) {
    const loaded = event("Page.loadEventFired");
    await send("Page.navigate", { url });
    await loaded;
  },
  async evaluate({ evaluate: expression }) {
    const { result, exceptionDetails } = await send("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  },
  async key({ key }) {
    await send("Input.dispatchKeyEvent", { type: "keyDown", key, text: key });
    await send("Input.dispatchKeyEvent", { type: "keyUp", key });
  },
  async click({ click: selector }) {
    const found = JSON.stringify(selector);
    const expression = `(() => {
      const element = document.querySelector(${found});
      element.scrollIntoView({ block: "center" });
      const { x, y, width, height } = element.getBoundingClientRect();
      return [x + width / 2, y + height / 2];
    })()`;
    const [x, y] = await commands.evaluate({ evaluate: expression });
    for (const type of ["mousePressed", "mouseReleased"]) {
      await send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
    }
  },
  async size({ size: [width, height, isDark] }) {
    await send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    const value = isDark ? "dark" : "light";
    await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
  },
  async screenshot({ screenshot: path, full }) {
    const { data } = await send("Page.captureScreenshot", { format: "png", captureBeyondViewport: full });
    writeFileSync(path, Buffer.from(data, "base64"));
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  let answer;
  try {
    const [name] = Object.keys(commands).filter((name) => name in command);
    answer = { value: (await commands[name](command)) ?? null };
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
browser.kill();
process.exit(0);
