//! The example of tools in Python, by the binary.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::TestDir;

/// The root of the repository.
const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A dir with the files of the example, and the package where it is for the binary.
fn dir() -> TestDir {
    let example = Path::new(REPOSITORY).join("examples/python-tools");
    let package = Path::new(REPOSITORY).join("python/src").canonicalize().unwrap();
    let files = ["app.yaml", "modules/reports/models.py", "modules/reports/tools/report.py", "work/.gitkeep"];
    let read = |file: &str| {
        let path = example.join(file);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    files.iter().fold(TestDir::new(), |dir, file| {
        dir.with_file(file, read(file).replace("../../python/src", package.to_str().unwrap()))
    })
}

async fn call(dir: &TestDir, tool: &str, arguments: &Value, code: i32) -> Value {
    let arguments = arguments.to_string();
    dir.run(["call", "app.yaml", tool, &arguments, "--json"]).await.expect(code).json()
}

#[tokio::test]
async fn tools_in_python_are_called_like_any_other_and_call_others_through_the_gate() {
    let dir = dir();
    let report = call(&dir, "reports.get-report", &json!({"report_id": 1}), 0).await;
    let expected = json!({"id": 1, "title": "Sales in May", "status": "published"});
    assert_eq!(report["result"], json!({"status": "ok", "report": expected, "views": 1}));
    let none = call(&dir, "reports.get-report", &json!({"report_id": 9}), 0).await;
    assert_eq!(none["result"], json!({"status": "error", "error": "not_found"}));
    let compared = call(&dir, "reports.compare-reports", &json!({"report_ids": [1, 2]}), 0).await;
    assert_eq!(compared["result"]["status"], json!({"1": "published", "2": "draft"}), "{compared}");
    assert!(compared["result"]["asked_by"].is_string(), "{compared}");
    let few = call(&dir, "reports.compare-reports", &json!({"report_ids": [1]}), 2).await;
    assert_eq!(few["error"]["kind"], "invalid_args", "its schema is held to before it is called: {few}");
}

#[tokio::test]
async fn a_tool_in_python_does_not_reach_what_the_policy_denies() {
    let relay = r#"
from toolcrib import ToolError, tool

@tool(risk="low")
def relay(name: str, *, sdk):
    """Calls another tool."""
    names = [tool.qualified_name for tool in sdk.list_tools(user_selectable_only=False)]
    try:
        return [names, sdk.run_tool(name, {"report_id": 1})]
    except ToolError as error:
        return [names, error.kind]
"#;
    let dir = dir().with_file("modules/reports/tools/relay.py", relay);
    let denied = call(&dir, "reports.relay", &json!({"name": "reports.delete-report"}), 0).await;
    assert_eq!(denied["result"][1], "denied", "{denied}");
    let names = denied["result"][0].to_string();
    assert!(names.contains("reports::get-report") && !names.contains("reports::delete-report"), "{names}");
    // It calls itself until it is too deep, and does not hang.
    let endless = r#"
from toolcrib import tool

@tool(risk="low")
def endless(depth: int = 0, *, sdk):
    """Calls itself."""
    return sdk.run_tool("reports.endless", {"depth": depth + 1})
"#;
    let dir = dir.with_file("modules/reports/tools/endless.py", endless);
    let failed = dir.run(["call", "app.yaml", "reports.endless", "{}", "--json"]).await.json();
    assert_eq!(failed["error"]["kind"], "limit_reached", "{failed}");
}

#[tokio::test]
async fn a_secret_of_a_worker_is_in_no_result_and_in_no_error() {
    let leak = r#"
import os
from toolcrib import tool

@tool(risk="low")
def leak(fail: bool = False):
    """Tells a secret."""
    if fail:
        raise ValueError(os.environ["API_KEY"])
    return os.environ["API_KEY"]
"#;
    let app = dir().read("app.yaml").replace("env: {", "env: {API_KEY: \"${REPORTS_API_KEY}\", ");
    let dir = dir()
        .with_file("app.yaml", app)
        .with_file("modules/reports/tools/leak.py", leak)
        .with_variable("REPORTS_API_KEY", "key-0123456789abcdef");
    for arguments in ["{}", "{\"fail\": true}"] {
        let output = dir.run(["call", "app.yaml", "reports.leak", arguments, "--json"]).await;
        let report = output.report();
        assert!(!report.contains("0123456789abcdef"), "{report}");
        assert!(report.contains("ValueError") || report.contains("result"), "{report}");
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_imported_is_told_with_its_line_and_the_others_load() {
    let dir = dir().with_file("modules/reports/tools/broken.py", "import json\nimport nowhere_at_all\n");
    let output = dir.run(["tools", "app.yaml"]).await;
    let report = output.report();
    assert!(report.contains("reports.get-report"), "{report}");
    assert!(report.contains("modules/reports/tools/broken.py:2: ModuleNotFoundError"), "{report}");
}
