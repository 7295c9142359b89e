//! What an entry of `type: exec` promises, with real programs.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::timeout;
use toolcrib_app::Blueprint;
use toolcrib_exec::DenyAll;
use toolcrib_model::{JsonObject, ToolCall};
use toolcrib_port::CallContext;

use crate::Runtime;

/// How long something is waited for that has to happen.
const PATIENCE: Duration = Duration::from_secs(10);

const MANIFEST: &str = "
name: kit
description: Facts about the disk.
tools:
  - {name: where, description: Says where it works., argv: [sh, -c, 'printf \"\\\"%s\\\"\" \"$TOOLCRIB_WORKSPACE\"']}
";

fn folder(entry: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("kit")).unwrap();
    fs::create_dir(folder.path().join("work")).unwrap();
    fs::write(folder.path().join("kit/toolcrib.yaml"), MANIFEST).unwrap();
    let app = format!(
        "app: {{workspace: work}}\ntools: {{registry: [{entry}], capabilities: {{default_policy: grant}}}}\n"
    );
    fs::write(folder.path().join("app.yaml"), app).unwrap();
    folder
}

async fn start(folder: &TempDir) -> Runtime {
    let app = Blueprint::open(folder.path().join("app.yaml")).unwrap();
    Runtime::start(app, Arc::new(DenyAll)).await.unwrap()
}

#[tokio::test]
async fn its_programs_are_told_the_workspace_of_the_app() {
    let folder = folder("{type: exec, path: kit, namespace: tools}");
    let runtime = start(&folder).await;
    let call = ToolCall::new("tools.where", JsonObject::new());
    let result = runtime.executor().call(call, &CallContext::new("test")).await;
    assert_eq!(result.error, None);
    let told = fs::canonicalize(result.result.as_str().unwrap()).unwrap();
    assert_eq!(told, folder.path().join("work").canonicalize().unwrap());
}

#[tokio::test]
async fn a_saved_manifest_is_loaded_again_when_it_is_watched() {
    let folder = folder("{type: exec, path: kit, watch: true}");
    let runtime = start(&folder).await;
    let mut changes = runtime.executor().registry().subscribe();
    let more = format!("{MANIFEST}  - {{name: more, description: Is new., argv: [\"true\"]}}\n");
    fs::write(folder.path().join("kit/toolcrib.yaml"), more).unwrap();
    let change = timeout(PATIENCE, changes.recv()).await.expect("loaded in time").unwrap();
    assert_eq!(change.added[0].dotted(), "kit.more");
}

/// The Python package.
const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/src");

/// A file of tools in Python, of which `one` returns this number.
fn tools(number: u32, more: &str) -> String {
    format!(
        "from toolcrib import tool\n\n@tool(\"one\")\ndef one() -> int:\n    \"\"\"Returns a number.\"\"\"\n    return {number}\n{more}"
    )
}

#[tokio::test]
async fn a_worker_is_replaced_when_its_source_code_is_saved() {
    let folder = folder(&format!(
        "{{type: exec, worker: [python3, -m, toolcrib.worker, modules/reports], env: {{PYTHONPATH: '{PACKAGE}'}}, watch: true}}"
    ));
    let source = folder.path().join("modules/reports/tools/report.py");
    fs::create_dir_all(source.parent().unwrap()).unwrap();
    fs::write(&source, tools(1, "")).unwrap();
    let runtime = start(&folder).await;
    let one = || async {
        let call = ToolCall::new("reports.one", JsonObject::new());
        runtime.executor().call(call, &CallContext::new("test")).await
    };
    assert_eq!(one().await.result, 1);
    let mut changes = runtime.executor().registry().subscribe();
    fs::write(folder.path().join("modules/reports/tools/data.json"), "{}").unwrap();
    let more = "\n@tool(\"two\")\ndef two() -> int:\n    \"\"\"Returns two.\"\"\"\n    return 2\n";
    fs::write(&source, tools(7, more)).unwrap();
    let change = timeout(PATIENCE, changes.recv()).await.expect("loaded in time").unwrap();
    assert_eq!(change.added[0].dotted(), "reports.two");
    assert_eq!(one().await.result, 7, "the new worker answers");
    // A mistake takes the tools away, and the next save brings them back.
    fs::write(&source, "import nothing_of_the_kind\n").unwrap();
    let change = timeout(PATIENCE, changes.recv()).await.expect("loaded in time").unwrap();
    assert!(change.removed.iter().any(|name| name.dotted() == "reports.one"), "{change:?}");
    fs::write(&source, tools(8, "")).unwrap();
    let change = timeout(PATIENCE, changes.recv()).await.expect("loaded in time").unwrap();
    assert_eq!(change.added[0].dotted(), "reports.one");
    assert_eq!(one().await.result, 8);
    runtime.close().await;
}

#[tokio::test]
async fn a_model_is_told_the_namespace_of_a_folder_and_not_its_path() {
    let folder = folder("{type: exec, path: kit}");
    let runtime = start(&folder).await;
    let prompt = &runtime.agent(None).unwrap().system_prompt.text;
    assert!(prompt.contains("exec kit") && prompt.contains("Facts about the disk."), "{prompt}");
    assert!(!prompt.contains(folder.path().to_str().unwrap()), "{prompt}");
}

#[tokio::test]
async fn an_entry_that_is_wrong_is_told_at_its_place() {
    let text = "tools: {registry: [{type: exec, path: kit, watsh: true}]}";
    let error = Blueprint::from_text("app.yaml", text).unwrap_err();
    assert_eq!(error.to_string(), "app.yaml:1:44: unknown key `watsh`, did you mean `watch`?");
}

#[tokio::test]
async fn an_entry_of_a_worker_that_is_wrong_is_told_at_its_place() {
    for (entry, expected) in [
        ("{type: exec}", "missing field `path`, the folder of the manifest; or `worker`"),
        ("{type: exec, worker: []}", "`worker` is empty; its first word names the program"),
    ] {
        let text = format!("tools: {{registry: [{entry}]}}");
        let error = Blueprint::from_text("app.yaml", &text).unwrap_err().to_string();
        assert!(error.starts_with("app.yaml:1:20: ") && error.contains(expected), "{entry}: {error}");
    }
}
