//! A client that cannot ask its user, and an operator at a terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::time::timeout;
use toolcrib_testkit::{TestTerminal, processes_of};

use crate::support::{PATIENCE, TestDir, binary};

/// Sends a signal to a process of the test.
pub(super) fn send(process: i64, signal: Signal) {
    let process = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    kill_process(process, signal).unwrap();
}

/// An app that is served to a client on its standard input and output.
pub(super) struct Client {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    requests: u64,
}

impl Client {
    /// Starts it as a client would that is not this process: what this process starts is no program of the client.
    pub(super) async fn start(dir: &TestDir) -> Self {
        let mut command = dir.command("/bin/sh", &dir.path("."));
        command.args(["-c", "\"$0\" serve app.yaml --stdio; exit $?"]).arg(binary());
        Self::greeted(command).await
    }

    /// Starts it with this process as the client.
    pub(super) async fn of_this_process(dir: &TestDir) -> Self {
        let mut command = dir.command(binary(), &dir.path("."));
        command.args(["serve", "app.yaml", "--stdio"]);
        Self::greeted(command).await
    }

    async fn greeted(mut command: tokio::process::Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut client = Self { child, input, output: BufReader::new(output).lines(), requests: 0 };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let id = client.request("initialize", &hello).await;
        client.result(id).await;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        self.input.flush().await.unwrap();
    }

    async fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// Begins a call of the server's tool.
    pub(super) async fn call(&mut self, what: &str) -> u64 {
        self.tool("team__ask", &json!({"what": what})).await
    }

    /// Begins a call of any tool.
    pub(super) async fn tool(&mut self, name: &str, arguments: &Value) -> u64 {
        self.request("tools/call", &json!({"name": name, "arguments": arguments})).await
    }

    /// The result of a request, as text.
    pub(super) async fn result(&mut self, id: u64) -> String {
        let answer = async {
            loop {
                let line = self.output.next_line().await.unwrap().expect("the server goes on");
                let message: Value = serde_json::from_str(&line).unwrap();
                if message["id"] == id {
                    return message["result"].to_string();
                }
            }
        };
        timeout(PATIENCE, answer).await.expect("an answer in time")
    }

    /// Kills the server as a power failure would.
    pub(super) async fn kill(mut self, dir: &TestDir) {
        let is_server = |command: &str| command.contains("serve") && !command.contains("/bin/sh");
        for process in processes_of(&dir.path(".").canonicalize().unwrap()).unwrap() {
            if is_server(&process.command) {
                send(process.id.into(), Signal::KILL);
            }
        }
        timeout(PATIENCE, self.child.wait()).await.expect("it ends").unwrap();
    }

    /// Ends it in order.
    pub(super) async fn end(self) {
        let Self { mut child, input, .. } = self;
        drop(input);
        timeout(PATIENCE, child.wait()).await.expect("it ends").unwrap();
    }
}

/// `toolcrib approve` at a terminal, and somebody who sits at it.
pub(super) struct AtTerminal {
    child: Child,
    fingers: File,
    /// What comes to the screen.
    screen: mpsc::UnboundedReceiver<String>,
    /// What of it was not looked at yet.
    text: String,
}

impl AtTerminal {
    pub(super) fn start(dir: &TestDir) -> Self {
        let TestTerminal { seat: fingers, terminal, .. } = TestTerminal::open().unwrap();
        let mut command = dir.command(binary(), &dir.path("."));
        command.args(["approve", "app.yaml"]).stdin(terminal.try_clone().unwrap());
        let child = command.stdout(terminal.try_clone().unwrap()).stderr(terminal).spawn().unwrap();
        let mut eyes = fingers.try_clone().unwrap();
        let (seen, screen) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            // A terminal that nobody has open any more is an error.
            while let Ok(count @ 1..) = eyes.read(&mut part) {
                let text = String::from_utf8_lossy(&part[..count]).into_owned();
                if seen.send(text).is_err() {
                    return;
                }
            }
        });
        Self { child, fingers, screen, text: String::new() }
    }

    /// The same, when it answers for a process.
    pub(super) async fn attached(dir: &TestDir) -> Self {
        let mut terminal = Self::start(dir);
        terminal.until("you answer for").await;
        terminal.until("\n").await;
        terminal
    }

    /// What comes to the screen up to a text, which has to come.
    pub(super) async fn until(&mut self, text: &str) -> String {
        let seen = async {
            loop {
                if let Some(at) = self.text.find(text) {
                    let rest = self.text.split_off(at + text.len());
                    return std::mem::replace(&mut self.text, rest).replace("\r\n", "\n");
                }
                let more = self.screen.recv().await.unwrap_or_else(|| panic!("{text:?}: {}", self.text));
                self.text.push_str(&more);
            }
        };
        let seen = timeout(PATIENCE, seen).await;
        seen.unwrap_or_else(|_| panic!("{text:?} does not come: {:?}", self.text))
    }

    /// What comes to the screen until a call is asked about.
    pub(super) async fn asked(&mut self) -> String {
        self.until("not]").await
    }

    pub(super) fn types(&mut self, text: &str) {
        self.fingers.write_all(text.as_bytes()).unwrap();
    }

    /// As Ctrl-C does.
    pub(super) fn interrupt(&self) {
        send(self.child.id().unwrap().into(), Signal::INT);
    }

    /// Waits for its end, and gives its exit code.
    pub(super) async fn end(&mut self) -> Option<i32> {
        timeout(PATIENCE, self.child.wait()).await.expect("it ends").unwrap().code()
    }
}
