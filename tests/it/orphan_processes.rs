//! No process outlives the binary, however it ends.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Child;
use tokio::time::timeout;
use toolcrib_testkit::{Process, descendants, wait_until};

use crate::support::{PATIENCE, RunOutput, TestDir, mcp_script};

/// How often the command of the tests below sleeps, side by side.
const SLEEPERS: usize = 2;

/// An agent whose tool is a shell with a child that it does not wait for.
fn lab_that_hangs() -> TestDir {
    let app = "
agents: [{id: a, brain: {provider: recorded, recording: turns.yaml}}]
tools:
  registry: [{type: file, path: tools.yaml, engine: shell}]
  engines:
    shell: {type: command, argv: [sh, -c, 'sleep 300 & sleep 300']}
  capabilities: {default_policy: grant}
";
    TestDir::with_app(app)
        .with_file("tools.yaml", "shop: [{name: hang}]\n")
        .with_file("turns.yaml", "turns: [{calls: [{name: shop.hang}]}, {text: Done.}]\n")
}

/// Starts a run, and waits until its tool does.
async fn hanging_run(dir: &TestDir) -> (Child, Vec<Process>) {
    let child = dir.start(&["run", "app.yaml", "Hang.", "--json"]);
    let id = child.id().unwrap();
    let look = || {
        let below = descendants(id)?;
        let sleepers = below.iter().filter(|process| process.command == "sleep 300").count();
        Ok((sleepers == SLEEPERS).then_some(below))
    };
    let below = wait_until("the sleeping children", PATIENCE, look).await.unwrap();
    (child, below)
}

fn send(child: &Child, signal: Signal) {
    let id = i32::try_from(child.id().unwrap()).unwrap();
    kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
}

async fn ended(child: Child) -> RunOutput {
    RunOutput::new(&timeout(PATIENCE, child.wait_with_output()).await.expect("the binary ends").unwrap())
}

#[tokio::test]
async fn a_polite_end_in_the_middle_of_a_call_leaves_nothing_and_still_reports() {
    for signal in [Signal::TERM, Signal::INT] {
        let dir = lab_that_hangs();
        let (child, below) = hanging_run(&dir).await;
        send(&child, signal);
        let output = ended(child).await.expect(1);
        dir.assert_nothing_is_left(&below).await;
        let report = output.json();
        assert_eq!(report["outcome"], "failed");
        assert_eq!(report["calls"].as_array().map(Vec::len), Some(1), "the call has its result: {report}");
    }
}

#[tokio::test]
async fn a_kill_in_the_middle_of_a_call_leaves_nothing() {
    let dir = lab_that_hangs();
    let (child, below) = hanging_run(&dir).await;
    send(&child, Signal::KILL);
    let output = ended(child).await;
    assert_eq!(output.signal, Some(Signal::KILL.as_raw()));
    dir.assert_nothing_is_left(&below).await;
}

#[tokio::test]
async fn a_single_call_that_is_interrupted_leaves_nothing() {
    let dir = lab_that_hangs();
    let child = dir.start(&["call", "app.yaml", "shop.hang", "--json"]);
    let id = child.id().unwrap();
    let below =
        wait_until(
            "the tool",
            PATIENCE,
            || Ok(Some(descendants(id)?).filter(|below| below.len() > SLEEPERS)),
        );
    let below = below.await.unwrap();
    send(&child, Signal::INT);
    let output = ended(child).await.expect(1);
    dir.assert_nothing_is_left(&below).await;
    assert_eq!(output.json()["error"]["kind"], "cancelled");
}

/// An agent that asks an MCP server, whose answer waits until somebody writes to the pipe `gate`. The server has a
/// child of its own.
async fn lab_with_a_gate() -> TestDir {
    let app = "
agents: [{id: a, brain: {provider: recorded, recording: turns.yaml}}]
tools:
  registry: [{type: mcp, namespace: team, command: [sh, server.sh]}]
  capabilities: {default_policy: grant}
";
    let waits = r#"on_start() { sleep 300 & }
on_call() { read -r word < gate; text "$word"; }"#;
    let dir = TestDir::with_app(app)
        .with_file("server.sh", mcp_script(waits))
        .with_file("turns.yaml", "turns: [{calls: [{name: team.ask}]}, {expect: [open], text: Done.}]\n");
    let made = dir.command("mkfifo", &dir.path(".")).arg("gate").status().await.unwrap();
    assert!(made.success());
    dir
}

/// Starts a run, and waits until its server is in the middle of a call. Returns the open gate as well.
async fn asking_run(dir: &TestDir) -> (Child, Vec<Process>, fs::File) {
    let child = dir.start(&["run", "app.yaml", "Ask.", "--json"]);
    let gate = dir.path("gate");
    // Opening it waits for the reader on the other side.
    let open = tokio::task::spawn_blocking(move || fs::OpenOptions::new().write(true).open(gate));
    let gate = timeout(PATIENCE, open).await.expect("the server is called").unwrap().unwrap();
    let below = descendants(child.id().unwrap()).unwrap();
    assert!(below.iter().any(|process| process.command == "sh server.sh"), "{below:#?}");
    assert!(below.iter().any(|process| process.command == "sleep 300"), "{below:#?}");
    (child, below, gate)
}

#[tokio::test]
async fn a_run_with_an_mcp_server_leaves_nothing_when_it_is_done() {
    let dir = lab_with_a_gate().await;
    let (child, below, mut gate) = asking_run(&dir).await;
    std::io::Write::write_all(&mut gate, b"open\n").unwrap();
    drop(gate);
    let report: Value = ended(child).await.expect(0).json();
    assert_eq!(report["outcome"], "completed");
    dir.assert_nothing_is_left(&below).await;
}

#[tokio::test]
async fn a_kill_takes_the_mcp_server_along() {
    let dir = lab_with_a_gate().await;
    let (child, below, _gate) = asking_run(&dir).await;
    send(&child, Signal::KILL);
    assert_eq!(ended(child).await.signal, Some(Signal::KILL.as_raw()));
    dir.assert_nothing_is_left(&below).await;
}

#[tokio::test]
async fn a_polite_end_takes_the_mcp_server_along() {
    for signal in [Signal::TERM, Signal::INT] {
        let dir = lab_with_a_gate().await;
        let (child, below, _gate) = asking_run(&dir).await;
        send(&child, signal);
        ended(child).await.expect(1);
        dir.assert_nothing_is_left(&below).await;
    }
}

#[tokio::test]
async fn a_second_interruption_does_not_wait_for_the_server_and_leaves_nothing_either() {
    let dir = lab_with_a_gate().await;
    let (mut child, below, _gate) = asking_run(&dir).await;
    let mut said = BufReader::new(child.stderr.take().unwrap());
    send(&child, Signal::INT);
    let mut line = String::new();
    timeout(PATIENCE, said.read_line(&mut line)).await.expect("it says that it stops").unwrap();
    assert!(line.contains("once more"), "{line}");
    send(&child, Signal::INT);
    ended(child).await.expect(1);
    dir.assert_nothing_is_left(&below).await;
}
