//! A served app, and clients that say what they like: HTTP/1.1 by hand on real sockets.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStderr};
use tokio::sync::watch;
use tokio::time::timeout;

use toolcrib_testkit::wait_until;

use crate::support::{PATIENCE, TestDir, mcp_script};

/// A server whose only tool leaves a file when it is called.
const LEAVES_A_FILE: &str = r#"on_call() { echo "$1" >> "$HOME/called"; text "done"; }"#;

/// One whose tool leaves it and does not end before [`let_go`].
pub(super) const WAITS: &str = r#"on_call() { echo x >> "$HOME/called"; while [ ! -e "$HOME/go" ]; do sleep 0.05; done; text "$1 done"; }"#;

/// Lets the calls of that tool end.
pub(super) fn let_go(dir: &TestDir) {
    std::fs::write(dir.path("home/go"), "").unwrap();
}

/// Rules by which clients ask their user.
pub(super) const ASKS_USER: &str =
    "{default_policy: grant, grant: [{module: context_builder, actions: [ask_user]}]}";

/// An app with the first server.
pub(super) fn app(serve: &str, capabilities: &str) -> TestDir {
    let app = format!(
        "
modules: {{hello: {{}}}}
tools:
  registry: [{{type: mcp, namespace: team, command: [sh, server.sh], cwd: .}}]
  capabilities: {capabilities}
{serve}
"
    );
    TestDir::with_app(&app).with_file("server.sh", mcp_script(LEAVES_A_FILE))
}

/// The same with two clients: `ci`, which may use `hello` alone, and `all`.
pub(super) fn app_with_tokens(capabilities: &str) -> TestDir {
    let serve =
        "serve: {tokens: [{name: ci, token: '${CI}', namespaces: [hello]}, {name: all, token: '${ALL}'}]}";
    app(serve, capabilities)
        .with_variable("CI", "a-token-for-the-builds")
        .with_variable("ALL", "a-token-for-all-of-it")
}

/// Whether the server's tool was called.
pub(super) fn was_called(dir: &TestDir) -> bool {
    dir.path("home/called").exists()
}

/// Waits until it was.
pub(super) async fn until_called(dir: &TestDir) {
    let look = || Ok(was_called(dir).then_some(()));
    wait_until("a call of the server's tool", SOON, look).await.unwrap();
}

/// An app that is served over HTTP.
pub(crate) struct Served {
    pub(super) child: Child,
    pub(crate) address: SocketAddr,
    /// What it has said since it serves.
    pub(super) said: watch::Receiver<String>,
}

/// Listens to what a program says, so that it is never kept waiting.
pub(super) fn heard(mut lines: Lines<BufReader<ChildStderr>>) -> watch::Receiver<String> {
    let (saying, said) = watch::channel(String::new());
    tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            saying.send_modify(|all| all.extend([line.as_str(), "\n"]));
        }
    });
    said
}

/// What came back.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Served {
    pub(crate) async fn start(dir: &TestDir, more: &[&str]) -> Self {
        Self::start_at(dir, "0", more).await
    }

    /// On this address.
    pub(super) async fn start_at(dir: &TestDir, address: &str, more: &[&str]) -> Self {
        let mut words = vec!["serve", "app.yaml", "--http", address];
        words.extend(more);
        let mut child = dir.start(&words);
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = timeout(PATIENCE, async {
            loop {
                let line = lines.next_line().await.unwrap().expect("it says where it serves");
                if let Some((_, rest)) = line.split_once("http://") {
                    return rest.trim_end_matches("/mcp").parse().unwrap();
                }
            }
        });
        let address = address.await.expect("it serves");
        Self { child, address, said: heard(lines) }
    }

    /// Waits until it has said something, and what it has said till then.
    pub(super) async fn until_says(&self, what: &str) -> String {
        let mut said = self.said.clone();
        let waiting = timeout(PATIENCE, said.wait_for(|all| all.contains(what)));
        let all = waiting
            .await
            .unwrap_or_else(|_| panic!("it does not say {what:?}: {}", self.said.borrow().as_str()));
        all.expect("it runs").clone()
    }

    pub(super) async fn connect(&self) -> TcpStream {
        timeout(PATIENCE, TcpStream::connect(self.address)).await.unwrap().unwrap()
    }

    /// Sends these bytes and reads the answer to its end.
    pub(super) async fn raw(&self, bytes: &[u8]) -> Reply {
        let mut stream = self.connect().await;
        // It may be answered before it was sent.
        let _ = stream.write_all(bytes).await;
        read(&mut stream).await
    }

    /// A request to `/mcp` with these headers in place of the usual ones, which are those of a client before 2026-07-28.
    pub(super) async fn post(&self, headers: &[(&str, &str)], body: &str) -> Reply {
        self.raw(&self.request("POST", "/mcp", headers, body)).await
    }

    /// Sends a call of the server's tool, and waits until it runs.
    pub(super) async fn begun(&self, dir: &TestDir, headers: &[(&str, &str)], call: &str) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(&self.request("POST", "/mcp", headers, call)).await.unwrap();
        until_called(dir).await;
        stream
    }

    pub(super) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        self.raw(&self.request("GET", path, headers, "")).await
    }

    pub(super) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
        let host = self.address.to_string();
        let length = body.len().to_string();
        let mut all = vec![
            ("host", host.as_str()),
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
            ("content-length", length.as_str()),
            ("connection", "close"),
        ];
        all.retain(|(name, _)| headers.iter().all(|(other, _)| other != name));
        all.extend(headers);
        let lines = all.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let head = lines.collect::<Vec<_>>().concat();
        format!("{method} {path} HTTP/1.1\r\n{head}\r\n{body}").into_bytes()
    }

    /// A request of revision 2026-07-28.
    pub(crate) async fn modern(&self, headers: &[(&str, &str)], method: &str, params: Value) -> Value {
        let reply = self.modern_reply(headers, method, params).await;
        reply.message()
    }

    pub(super) async fn modern_reply(&self, headers: &[(&str, &str)], method: &str, params: Value) -> Reply {
        self.raw(&self.modern_request(headers, method, params)).await
    }

    /// A request of revision 2026-07-28, to be sent.
    pub(super) fn modern_request(
        &self,
        headers: &[(&str, &str)],
        method: &str,
        mut params: Value,
    ) -> Vec<u8> {
        let meta = params["_meta"].take();
        let capabilities = meta.get("capabilities").cloned().unwrap_or(json!({}));
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        let named = ["name", "uri", "taskId"].into_iter().find_map(|key| params[key].as_str());
        let name = named.unwrap_or_default().to_owned();
        let mut all = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        if !name.is_empty() {
            all.push(("mcp-name", &name));
        }
        all.extend(headers);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.request("POST", "/mcp", &all, &body.to_string())
    }

    /// A session of a client before that, by its id.
    pub(super) async fn session(&self, headers: &[(&str, &str)], capabilities: Value) -> String {
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        }});
        let reply = self.post(headers, &body.to_string()).await;
        assert_eq!(reply.status, 200, "{reply:#?}");
        reply.header("mcp-session-id").expect("a session").to_owned()
    }

    /// Tells the process to end.
    pub(super) fn terminate(&self) {
        let id = i32::try_from(self.child.id().unwrap()).unwrap();
        let process = rustix::process::Pid::from_raw(id).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    }
}

impl Reply {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let named =
            |line: &'_ str| line.split_once(':').is_some_and(|(key, _)| key.eq_ignore_ascii_case(name));
        let line = self.head.lines().find(|line| named(line))?;
        Some(line.split_once(':')?.1.trim())
    }

    /// The answer, of the body itself or of its last event.
    pub(super) fn message(&self) -> Value {
        if let Ok(message) = serde_json::from_str(&self.body) {
            return message;
        }
        let data = self.messages().pop();
        data.unwrap_or_else(|| panic!("no message in {self:#?}"))
    }

    /// The messages of all events.
    pub(super) fn messages(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data:"));
        data.filter_map(|text| serde_json::from_str(text.trim()).ok()).collect()
    }
}

/// Reads an answer to its end.
pub(super) async fn read(stream: &mut TcpStream) -> Reply {
    let mut bytes = Vec::new();
    let reading = async {
        let mut part = vec![0; 16 * 1024];
        loop {
            match stream.read(&mut part).await {
                Ok(0) | Err(_) => return,
                Ok(count) => bytes.extend_from_slice(&part[..count]),
            }
        }
    };
    timeout(PATIENCE, reading).await.expect("the server hangs up");
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    let body = if head.to_lowercase().contains("transfer-encoding: chunked") {
        dechunked(body)
    } else {
        body.to_owned()
    };
    Reply { status, head: head.to_owned(), body }
}

/// Reads until a text came.
pub(super) async fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let mut text = String::new();
    let reading = async {
        let mut part = vec![0; 16 * 1024];
        while !text.contains(wanted) {
            let count = stream.read(&mut part).await.unwrap();
            assert!(count > 0, "the server hung up before {wanted:?}: {text}");
            text.push_str(&String::from_utf8_lossy(&part[..count]));
        }
    };
    timeout(PATIENCE, reading).await.expect(wanted);
    text
}

fn dechunked(mut body: &str) -> String {
    let mut out = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 || rest.len() < size {
            break;
        }
        out.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    out
}

/// A call of the server's tool.
pub(super) fn call_ask() -> Value {
    json!({"name": "team__ask", "arguments": {"what": "x"}})
}

/// Within which what does not take long has happened.
pub(super) const SOON: Duration = Duration::from_secs(20);
