//! The first thing that anybody runs.

use serde_json::Value;

use crate::support::{RunOutput, TestDir, repository};

/// Where it is written what the tests change.
const WINDOW: &str = "context_window: 131072";

/// The quickstart in a folder of its own, with a change to its app file.
fn copy(change: impl Fn(String) -> String) -> TestDir {
    TestDir::of_example("quickstart", |name, text| if name == "app.yaml" { change(text) } else { text })
}

/// A copy with another way of showing tools and of calling them.
fn with_mode(mode: &str, is_native: bool) -> TestDir {
    copy(|app| {
        assert!(app.contains(WINDOW), "the quickstart names its window: {app}");
        let app = app.replace(WINDOW, &format!("{WINDOW}\n      native_tool_use: {is_native}"));
        format!("{app}\nruntime: {{tool_injection: {mode}}}\n")
    })
}

async fn mode(dir: &TestDir) -> Value {
    dir.run(["plan", "app.yaml", "--json"]).await.expect(0).json()["mode"].clone()
}

/// The report without what differs from run to run.
fn stable(output: &RunOutput) -> Value {
    let mut report = output.json();
    for call in report["calls"].as_array_mut().unwrap() {
        call["ms"] = Value::Null;
    }
    report
}

#[tokio::test]
async fn the_command_of_the_readme_answers_from_three_sources_without_a_key() {
    let dir = TestDir::new();
    let words = ["run", "examples/quickstart/app.yaml", "--json"];
    let output = dir.finish(dir.start_in(&repository(), &words)).await.expect(0);
    let report = stable(&output);
    assert_eq!(report["outcome"], "completed");
    snapshot!(dir, serde_json::to_string_pretty(&report).unwrap());
}

#[tokio::test]
async fn a_person_sees_each_call_and_the_answer() {
    let dir = copy(|app| app);
    snapshot!(dir, dir.run(["run", "app.yaml"]).await.expect(0).report());
}

#[tokio::test]
async fn it_ends_the_same_in_all_modes_and_both_styles() {
    let mut reports = Vec::new();
    assert_eq!(mode(&copy(|app| app)).await, "direct");
    for wanted in ["direct", "compact", "discovery", "mixed"] {
        for is_native in [true, false] {
            let dir = with_mode(wanted, is_native);
            assert_eq!(mode(&dir).await, wanted);
            reports.push(stable(&dir.run(["run", "app.yaml", "--json"]).await.expect(0)));
        }
    }
    let first = &reports[0];
    assert_eq!(first["outcome"], "completed");
    assert!(reports.iter().all(|report| report["calls"] == first["calls"]), "{reports:#?}");
}

#[tokio::test]
async fn what_costs_money_is_not_done_without_a_person() {
    let dir = copy(|app| app);
    let parcel = r#"{"weight_kg": 1, "zone": "nordic"}"#;
    dir.run(["call", "app.yaml", "shipping.book", parcel]).await.expect(4);
    dir.run(["call", "app.yaml", "shipping.book", parcel, "--yes"]).await.expect(0);
}
