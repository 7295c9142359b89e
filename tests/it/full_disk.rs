//! Messages about files that cannot be written. A limit on the size of files stands for a full disk: it needs no rights.

use std::path::Path;

use serde_json::Value;

use crate::support::{RunOutput, TestDir, binary, mcp_script};

/// Runs the binary where no file can grow. The system's signal for that is ignored, so that writing fails.
async fn run_on_full_disk(dir: &TestDir, arguments: &[&str]) -> RunOutput {
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"";
    let mut command = dir.command("sh", &dir.path(""));
    let child = command.args(["-c", script]).arg(binary()).args(arguments).spawn().unwrap();
    dir.finish(child).await
}

const APP: &str = "
modules: {hello: {}}
audit: {path: audit.jsonl, required: REQUIRED}
tools: {capabilities: {default_policy: grant}}
";

#[tokio::test]
async fn a_single_call_does_not_run_where_its_record_is_required_and_cannot_be_written() {
    let dir = TestDir::with_app(&APP.replace("REQUIRED", "true"));
    let run_output = run_on_full_disk(&dir, &["call", "app.yaml", "hello.status", "--json"]).await;
    let result: Value = serde_json::from_str(&run_output.stdout).unwrap();
    let error = result["error"]["message"].as_str().unwrap_or_default();
    assert!(error.contains("no call runs without a record of it"), "{result}");
    assert!(run_output.code != Some(0), "{}", run_output.stderr);
    assert_eq!(dir.read("audit.jsonl"), "");
    let run_output = dir.run(["call", "app.yaml", "hello.status"]).await;
    assert!(run_output.code == Some(0), "{}", run_output.stderr);
    assert_eq!(dir.read("audit.jsonl").lines().count(), 2);
}

#[tokio::test]
async fn a_call_whose_record_is_missing_says_so() {
    let dir = TestDir::with_app(&APP.replace("REQUIRED", "false"));
    let run_output = run_on_full_disk(&dir, &["call", "app.yaml", "hello.status"]).await;
    assert!(run_output.code == Some(0), "{}", run_output.stderr);
    assert!(run_output.stderr.contains("1 of its records are missing"), "{}", run_output.stderr);
}

#[tokio::test]
async fn tools_that_cannot_be_kept_as_approved_are_told() {
    let app = "tools: {registry: [{type: mcp, name: team, command: [sh, server.sh]}]}";
    let list = r#"list() { reply '{"tools":[{"name":"one","inputSchema":{"type":"object"}}]}'; }"#;
    let dir = TestDir::with_app(app).with_file("server.sh", mcp_script(list));
    let run_output = run_on_full_disk(&dir, &["tools", "app.yaml"]).await;
    assert!(run_output.stderr.contains("is not kept as approved"), "{}", run_output.stderr);
    assert!(!dir.path("app.yaml.lock").exists());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn output_that_cannot_be_written_fails_the_command() {
    let dir = TestDir::with_app("modules: {hello: {}}\n");
    let mut command = dir.command("sh", &dir.path(""));
    let child = command.args(["-c", "\"$0\" tools app.yaml > /dev/full"]).arg(binary()).spawn().unwrap();
    let run_output = dir.finish(child).await;
    assert_eq!(run_output.code, Some(1), "{run_output:?}");
    assert!(
        run_output.stderr.contains("error: standard output is incomplete: No space left"),
        "{run_output:?}"
    );
    // Whoever stops reading has seen enough.
    let mut command = dir.command("sh", &dir.path(""));
    let child =
        command.args(["-c", "(\"$0\" schema app; echo $? > code) | true"]).arg(binary()).spawn().unwrap();
    dir.finish(child).await;
    assert_eq!(dir.read("code"), "0\n");
}

#[tokio::test]
async fn a_starter_that_cannot_be_written_leaves_nothing_behind() {
    let dir = TestDir::new();
    let run_output = run_on_full_disk(&dir, &["init", "new"]).await;
    assert!(
        run_output.code != Some(0) && run_output.stderr.contains("nothing was written"),
        "{}",
        run_output.stderr
    );
    assert!(files(&dir.path("new")).is_empty(), "{:?}", files(&dir.path("new")));
    let run_output = dir.run(["init", "new"]).await;
    assert!(run_output.code == Some(0), "{}", run_output.stderr);
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}
