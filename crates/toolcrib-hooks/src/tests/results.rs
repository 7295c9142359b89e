//! Hooks on results.

use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, ToolResult};

use super::{Fixture, answering, hooked, shell};

/// Returns the result that a call has after a hook with this answer.
async fn after(answer: Value, value: Value) -> (Fixture, ToolResult) {
    let fixture = answering("after", &answer);
    let result = fixture.result(value).await;
    assert_eq!(fixture.runs(), 1);
    (fixture, result)
}

#[tokio::test]
async fn a_program_reads_the_result_or_the_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("message.json");
    let fixture =
        hooked(shell("after", &format!("cat > {}; echo '{{\"verdict\": \"keep\"}}'", file.display())));
    let read = || serde_json::from_slice::<Value>(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(fixture.result(json!({"a": 1})).await.result, json!({"a": 1}));
    assert_eq!([&read()["when"], &read()["result"]], [&json!("after"), &json!({"a": 1})]);
    assert_eq!(fixture.hook_records(), Value::Null);
    let failed = fixture.call("shop.list", json!({"fail": "there is no lamp"})).await;
    assert_eq!(failed.error.unwrap().message, "there is no lamp");
    assert_eq!(read()["error"]["message"], "there is no lamp");
    assert!(!read().as_object().unwrap().contains_key("result"));
}

#[tokio::test]
async fn a_result_is_kept_with_a_note_or_changed() {
    let (fixture, kept) = after(json!({"verdict": "keep", "note": "of yesterday"}), json!(1)).await;
    assert_eq!(
        (&kept.result, kept.facts().unwrap().as_str()),
        (&json!(1), "[the hook `check` notes: of yesterday]")
    );
    assert_eq!(fixture.hook_records(), json!([{"hook": "check", "verdict": "note"}]));
    let (fixture, changed) =
        after(json!({"verdict": "change", "result": [2], "note": "rounded"}), json!(1)).await;
    assert_eq!(changed.result, json!([2]));
    assert_eq!(changed.facts().unwrap(), "[the hook `check` changed the result: rounded]");
    assert_eq!(fixture.hook_records(), json!([{"hook": "check", "verdict": "change_result"}]));
}

#[tokio::test]
async fn texts_and_values_are_redacted_wherever_they_are() {
    let value = json!({"name": "Ann", "mail": "to Ann Lee <ann@example.com>", "Ann": [1, {"id": 7}]});
    let answer = json!({"verdict": "redact", "texts": ["Ann", "Ann Lee"], "pointers": ["/Ann/1/id"]});
    let (fixture, result) = after(answer, value).await;
    assert_eq!(
        result.result,
        json!({"name": "[redacted]", "mail": "to [redacted] <ann@example.com>", "[redacted]": [1, {"id": "[redacted]"}]})
    );
    assert_eq!(result.facts().unwrap(), "[the hook `check` removed parts of the result]");
    assert_eq!(fixture.hook_records(), json!([{"hook": "check", "verdict": "redact"}]));

    let fixture = answering("after", &json!({"verdict": "redact", "texts": ["Ann"]}));
    let failed = fixture.call("shop.list", json!({"fail": "no order of Ann"})).await;
    assert_eq!(failed.error.unwrap().message, "no order of [redacted]");
}

#[tokio::test]
async fn a_blocked_result_is_an_error_that_does_not_show_it() {
    let (fixture, blocked) =
        after(json!({"verdict": "block", "reason": "it is private"}), json!("5f2c")).await;
    let error = blocked.error.unwrap();
    assert_eq!((error.kind, blocked.result), (ErrorKind::Denied, Value::Null));
    assert_eq!(error.message, "`shop.list` ran, and the hook `check` blocked its result: it is private");
    assert_eq!(fixture.hook_records(), json!([{"hook": "check", "verdict": "block"}]));
}

#[tokio::test]
async fn a_hook_that_fails_on_a_result_withholds_it() {
    let mut errors = Vec::new();
    for answer in [
        json!({"verdict": "allow"}),
        json!({"verdict": "redact"}),
        json!({"verdict": "redact", "texts": ["nowhere"]}),
        json!({"verdict": "redact", "texts": [""]}),
        json!({"verdict": "redact", "pointers": ["/nowhere"]}),
        json!({"verdict": "change"}),
        json!({"verdict": "keep", "result": {"key": "5f2c"}}),
    ] {
        let (fixture, result) = after(answer, json!({"key": "5f2c"})).await;
        let error = result.error.unwrap();
        assert_eq!((error.kind, result.result), (ErrorKind::Internal, Value::Null));
        assert!(!error.to_string().contains("5f2c"), "{error}");
        assert_eq!(fixture.hook_records(), json!([{"hook": "check", "verdict": "failed"}]));
        errors.push(error.to_string());
    }
    let changing = answering("after", &json!({"verdict": "change", "result": "fine"}));
    errors.push(changing.call("shop.list", json!({"fail": "no"})).await.error.unwrap().to_string());
    insta::assert_snapshot!(errors.join("\n"));
}

#[tokio::test]
async fn a_hook_that_fails_open_keeps_the_result_and_says_so() {
    let mut settings = shell("after", "exit 1");
    settings["on_failure"] = json!("open");
    let fixture = hooked(settings);
    let result = fixture.result(json!(1)).await;
    assert_eq!(result.result, 1);
    assert_eq!(result.facts().unwrap(), "[the hook `check` failed and did not check the result]");
    assert_eq!(fixture.hook_records(), json!([{"hook": "check", "verdict": "failed"}]));
}

#[tokio::test]
async fn what_is_for_clients_is_checked_too_and_does_not_outlive_a_changed_value() {
    let meta = async |fixture: Fixture| {
        let arguments = json!({"value": {"name": "Ann"}, "meta": {"owner": "Ann"}});
        let result = fixture.call("shop.list", arguments).await;
        result.client_content().map(|content| serde_json::Value::Object(content.meta))
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("message.json");
    let keeps = shell("after", &format!("cat > {}; echo '{{\"verdict\": \"keep\"}}'", file.display()));
    assert_eq!(meta(hooked(keeps)).await, Some(json!({"owner": "Ann"})));
    let read: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(read["client_content"], json!({"_meta": {"owner": "Ann"}}));
    let redacts = |answer: Value| meta(answering("after", &answer));
    let by_text = redacts(json!({"verdict": "redact", "texts": ["Ann"]})).await;
    assert_eq!(by_text, Some(json!({"owner": "[redacted]"})));
    for answer in [
        json!({"verdict": "redact", "pointers": ["/name"]}),
        json!({"verdict": "change", "result": {"name": "someone"}}),
    ] {
        assert_eq!(redacts(answer.clone()).await, None, "{answer}");
    }
}
