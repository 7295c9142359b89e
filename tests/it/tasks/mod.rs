//! What outlasts one step of an agent: the real binary serves an app, is killed and started again, and its tools leave traces.

mod audit;
mod catalogue;
mod crashes;
mod gate;
mod operator;
mod replicas;
mod shared_store;

use std::collections::BTreeMap;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;
use toolcrib_testkit::wait_until;

use crate::support::{PATIENCE, RunOutput, TestDir, binary};

/// Both write down when they begin and when they end. One may be run again, the other not.
const MANIFEST: &str = r"
name: shop
description: Makes things.
tools:
  - name: make
    description: Makes a thing.
    argv: [sh, note.sh, make]
    risk: medium
    side_effects: [makes a thing]
  - name: polish
    description: Polishes a thing, as often as one likes.
    argv: [sh, note.sh, polish]
    risk: medium
    side_effects: [polishes a thing]
    idempotent: true
";

/// One line for each beginning and each end, with the key of the run.
const NOTE: &str = r#"echo "begin $1 $TOOLCRIB_RUN_KEY" >> ../effects.txt
sleep 0.1
echo "end $1 $TOOLCRIB_RUN_KEY" >> ../effects.txt
echo '{"made": 1}'
"#;

/// An app with these rules.
fn dir(capabilities: &str, execution: &str) -> TestDir {
    lab_with_store(capabilities, "tasks.db", execution)
}

/// An app with these rules and this store.
fn lab_with_store(capabilities: &str, store: &str, execution: &str) -> TestDir {
    let app = format!(
        "
tools:
  registry: [{{type: exec, path: ./shop}}]
  capabilities: {capabilities}
store: {store}
execution: {{watchers: true, scheduler: true{execution}}}
audit: {{path: audit.jsonl}}
"
    );
    TestDir::with_app(&app).with_file("shop/toolcrib.yaml", MANIFEST).with_file("shop/note.sh", NOTE)
}

/// What the tools have written down.
fn effects(dir: &TestDir) -> Vec<String> {
    std::fs::read_to_string(dir.path("effects.txt"))
        .map(|text| text.lines().map(str::to_owned).collect())
        .unwrap_or_default()
}

/// How often each run began, by its key.
fn begun(dir: &TestDir) -> BTreeMap<String, usize> {
    let mut begun = BTreeMap::new();
    for line in effects(dir) {
        if let Some(run) = line.strip_prefix("begin ") {
            *begun.entry(run.to_owned()).or_default() += 1;
        }
    }
    begun
}

/// Waits until something is seen.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    wait_until(what, PATIENCE, || Ok(is_so().then_some(()))).await.unwrap();
}

/// An app that is served to a client, which is this test.
struct Served {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    requests: u64,
}

impl Served {
    async fn start(dir: &TestDir) -> Self {
        let mut command = dir.command(binary(), &dir.path("."));
        let mut child = command.args(["serve", "app.yaml", "--stdio"]).stdin(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut served = Self { child, input, output: BufReader::new(output).lines(), requests: 0 };
        let client = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        served.request("initialize", &client).await;
        served.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        served
    }

    async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        self.input.flush().await.unwrap();
    }

    async fn request(&mut self, method: &str, params: &Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        let answer = async {
            loop {
                let line = self.output.next_line().await.unwrap().expect("the server goes on");
                let message: Value = serde_json::from_str(&line).unwrap();
                if message["id"] == id {
                    return message["result"].clone();
                }
            }
        };
        timeout(PATIENCE, answer).await.expect("an answer in time")
    }

    /// Calls a tool, and gives its result, whether it succeeded or not.
    async fn call(&mut self, name: &str, arguments: Value) -> Value {
        let result = self.request("tools/call", &json!({"name": name, "arguments": arguments})).await;
        match result["structuredContent"].clone() {
            Value::Null => {
                let text = result["content"][0]["text"].as_str().unwrap();
                // A result without a value has a line of facts alone.
                serde_json::from_str(text).unwrap_or_else(|_| text.into())
            }
            structured => structured,
        }
    }

    /// Schedules a call of a tool, and gives the id under which that was acknowledged.
    async fn schedule(&mut self, tool: &str, when: &str) -> String {
        let action = json!({"type": "tool_call", "tool": tool});
        let made = self.call("schedule_once", json!({"when": when, "action": action})).await;
        made["schedule_id"].as_str().unwrap_or_else(|| panic!("{made:#}")).to_owned()
    }

    /// Ends it as a power failure would.
    async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Ends it in order.
    async fn end(mut self) {
        drop(self.input);
        let status = timeout(PATIENCE, self.child.wait()).await.expect("it ends").unwrap();
        assert!(status.success(), "{status}");
    }
}

/// Runs the binary beside one that serves.
async fn run<const N: usize>(dir: &TestDir, arguments: [&str; N]) -> RunOutput {
    let output = dir.command(binary(), &dir.path(".")).args(arguments).output();
    RunOutput::new(&timeout(PATIENCE, output).await.expect("it ends").unwrap())
}

/// How all tasks stand, as an operator sees them: by id the kind and the state.
async fn tasks(dir: &TestDir) -> BTreeMap<String, Value> {
    let listed = run(dir, ["tasks", "app.yaml", "--json"]).await.expect(0).json();
    let ids = ["task_id", "watcher_id", "schedule_id"];
    let tasks = listed["tasks"].as_array().unwrap().iter();
    tasks
        .map(|task| {
            let id = ids.iter().find_map(|id| task[*id].as_str()).unwrap();
            // Whatever its kind calls it, a script finds it under one name.
            assert_eq!(task["id"], id, "{task:#}");
            (id.to_owned(), task.clone())
        })
        .collect()
}
