//! The real binary with a server that misbehaves.

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::timeout;
use toolcrib_testkit::{Process, processes_of, wait_until};

use super::resource_counts::peak_memory_of;
use crate::support::{PATIENCE, RunOutput, TestDir, hostile_server};

/// How much memory the binary may take at its peak, in bytes: what it takes by itself, a line of 16 MiB, and the room that
/// a buffer which doubles has for it.
const MAX_MEMORY: u64 = 128 * 1024 * 1024;

/// An app with two servers: `bad` in this mode, and its sibling.
fn dir(mode: &str) -> TestDir {
    let program = hostile_server();
    let program = program.display();
    let app = format!(
        "
agents: [{{id: a, brain: {{provider: recorded, recording: turns.yaml}}}}]
tools:
  registry:
    - {{type: mcp, namespace: calm, command: ['{program}', polite]}}
    - type: mcp
      namespace: bad
      command: ['{program}', '{mode}']
      startup_timeout_seconds: 1
      limits: {{timeout_seconds: 1}}
  capabilities: {{default_policy: grant}}
"
    );
    TestDir::with_app(&app).with_file("turns.yaml", "turns: [{calls: [{name: bad.hang}]}, {text: Done.}]\n")
}

#[tokio::test]
async fn a_server_that_does_not_start_hides_no_other_and_leaves_nothing() {
    for mode in ["silent", "deaf", "storm", "exit-at-once", "exit-for-child", "endless-first-line"] {
        let dir = dir(mode);
        let called = dir.run(["call", "app.yaml", "calm.echo", r#"{"text": "alive"}"#]).await.expect(0);
        assert!(called.stdout.contains("alive"), "{mode}: {called:#?}");
        let tools = dir.run(["tools", "app.yaml", "--json"]).await.expect(5).json();
        assert_eq!(tools["tools"].as_array().unwrap().len(), 3, "{mode}");
        assert_eq!(tools["rejected"][0]["source"], "mcp bad", "{mode}");
    }
}

#[tokio::test]
async fn a_call_of_a_server_that_misbehaves_has_its_error_and_leaves_nothing() {
    for (mode, tool, kind) in [
        ("polite", "exit", "outcome_unknown"),
        ("polite", "hang", "timeout"),
        ("half-line", "echo", "outcome_unknown"),
        ("endless-line", "echo", "outcome_unknown"),
        ("drip", "echo", "timeout"),
        ("late", "hang", "timeout"),
        ("ignores-term", "exit", "outcome_unknown"),
        ("forks", "exit", "outcome_unknown"),
    ] {
        let dir = dir(mode);
        let output = dir.run(["call", "app.yaml", &format!("bad.{tool}"), "--json"]).await;
        assert_eq!(output.json()["error"]["kind"], kind, "{mode}: {output:#?}");
    }
}

#[tokio::test]
async fn a_server_that_is_merely_rude_is_served_and_leaves_nothing() {
    for mode in ["garbage", "stderr-flood", "wrong-ids", "ignores-term", "forks"] {
        let called = dir(mode).run(["call", "app.yaml", "bad.echo", r#"{"text": "alive"}"#]).await.expect(0);
        assert!(called.stdout.contains("alive"), "{mode}: {called:#?}");
    }
}

#[tokio::test]
async fn a_gibibyte_without_a_line_break_does_not_fill_the_memory() {
    for (mode, code) in [("endless-line", 1), ("endless-first-line", 5)] {
        let dir = dir(mode);
        let mut child = dir.start(&["call", "app.yaml", "bad.echo", "{}"]);
        let process = child.id().unwrap().to_string();
        let mut peak = 0;
        let look = || {
            peak = peak.max(peak_memory_of(&process).unwrap_or_default());
            Ok(child.try_wait()?)
        };
        let status = wait_until("the end of the binary", PATIENCE, look).await.unwrap();
        assert_eq!(status.code(), Some(code), "{mode}");
        assert!(peak > 0 && peak < MAX_MEMORY, "{mode}: {peak} bytes");
        dir.assert_nothing_is_left(&[]).await;
    }
}

#[tokio::test]
async fn a_kill_takes_along_what_a_server_left_behind() {
    for mode in ["forks", "ignores-term"] {
        let dir = dir(mode);
        let child = dir.start(&["run", "app.yaml", "Hang.", "--json"]);
        let wanted = if mode == "forks" { 2 } else { 0 };
        let look = || {
            let processes = processes_of(&dir.path("."))?;
            let asleep = processes.iter().filter(|process| process.command == "sleep 3600").count();
            let serves = |process: &&Process| process.command.ends_with(mode);
            let is_ready = asleep == wanted && processes.iter().any(|process| serves(&process));
            Ok(is_ready.then_some(processes))
        };
        let below = wait_until("the server and what it leaves behind", PATIENCE, look).await.unwrap();
        let id = i32::try_from(child.id().unwrap()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), Signal::KILL).unwrap();
        let output =
            RunOutput::new(&timeout(PATIENCE, child.wait_with_output()).await.expect("it ends").unwrap());
        assert_eq!(output.signal, Some(Signal::KILL.as_raw()));
        dir.assert_nothing_is_left(&below).await;
    }
}
