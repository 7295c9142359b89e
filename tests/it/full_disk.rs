//! Messages about files that cannot be written. A limit on the size of files stands for a full disk: it needs no rights.

use std::path::Path;

use serde_json::Value;

use crate::support::{Lab, Ran, binary, mcp_script};

/// Runs the binary where no file can grow. The system's signal for that is ignored, so that writing fails.
async fn run_on_full_disk(lab: &Lab, arguments: &[&str]) -> Ran {
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"";
    let mut command = lab.command("sh", &lab.path(""));
    let child = command.args(["-c", script]).arg(binary()).args(arguments).spawn().unwrap();
    lab.finish(child).await
}

const APP: &str = "
modules: {hello: {}}
audit: {path: audit.jsonl, required: REQUIRED}
tools: {capabilities: {default_policy: grant}}
";

#[tokio::test]
async fn a_single_call_does_not_run_where_its_record_is_required_and_cannot_be_written() {
    let lab = Lab::with_app(&APP.replace("REQUIRED", "true"));
    let ran = run_on_full_disk(&lab, &["call", "app.yaml", "hello.status", "--json"]).await;
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    let error = result["error"]["message"].as_str().unwrap_or_default();
    assert!(error.contains("no call runs without a record of it"), "{result}");
    assert!(ran.code != Some(0), "{}", ran.stderr);
    assert_eq!(lab.read("audit.jsonl"), "");
    let ran = lab.run(["call", "app.yaml", "hello.status"]).await;
    assert!(ran.code == Some(0), "{}", ran.stderr);
    assert_eq!(lab.read("audit.jsonl").lines().count(), 2);
}

#[tokio::test]
async fn a_call_whose_record_is_missing_says_so() {
    let lab = Lab::with_app(&APP.replace("REQUIRED", "false"));
    let ran = run_on_full_disk(&lab, &["call", "app.yaml", "hello.status"]).await;
    assert!(ran.code == Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("1 of its records are missing"), "{}", ran.stderr);
}

#[tokio::test]
async fn tools_that_cannot_be_kept_as_approved_are_told() {
    let app = "tools: {registry: [{type: mcp, name: team, command: [sh, server.sh]}]}";
    let list = r#"list() { reply '{"tools":[{"name":"one","inputSchema":{"type":"object"}}]}'; }"#;
    let lab = Lab::with_app(app).with_file("server.sh", mcp_script(list));
    let ran = run_on_full_disk(&lab, &["tools", "app.yaml"]).await;
    assert!(ran.stderr.contains("is not kept as approved"), "{}", ran.stderr);
    assert!(!lab.path("app.yaml.lock").exists());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn output_that_cannot_be_written_fails_the_command() {
    let lab = Lab::with_app("modules: {hello: {}}\n");
    let mut command = lab.command("sh", &lab.path(""));
    let child = command.args(["-c", "\"$0\" tools app.yaml > /dev/full"]).arg(binary()).spawn().unwrap();
    let ran = lab.finish(child).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("error: standard output is incomplete: No space left"), "{ran:?}");
    // Whoever stops reading has seen enough.
    let mut command = lab.command("sh", &lab.path(""));
    let child =
        command.args(["-c", "(\"$0\" schema app; echo $? > code) | true"]).arg(binary()).spawn().unwrap();
    lab.finish(child).await;
    assert_eq!(lab.read("code"), "0\n");
}

#[tokio::test]
async fn a_starter_that_cannot_be_written_leaves_nothing_behind() {
    let lab = Lab::new();
    let ran = run_on_full_disk(&lab, &["init", "new"]).await;
    assert!(ran.code != Some(0) && ran.stderr.contains("nothing was written"), "{}", ran.stderr);
    assert!(files(&lab.path("new")).is_empty(), "{:?}", files(&lab.path("new")));
    let ran = lab.run(["init", "new"]).await;
    assert!(ran.code == Some(0), "{}", ran.stderr);
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}
