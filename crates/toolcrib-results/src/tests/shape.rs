//! From what an engine returned to what its reader gets.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, QualifiedName, Tool, ToolError, ToolResult};
use toolcrib_port::CallContext;

use super::{handle, results, secrets, shaped};
use crate::limits::MAX_FULL_RESULT_BYTES;
use crate::limits::MAX_RESULT_DEPTH;
use crate::{MAX_RESULT_TOKENS, MIN_RESULT_TOKENS, Results};

/// Bytes of the least room.
const ROOM: usize = 4 * MIN_RESULT_TOKENS as usize;

fn context() -> CallContext {
    CallContext::new("s")
}

#[test]
fn a_result_that_fits_stays_as_it_is() {
    let results = results();
    for value in [json!("x".repeat(ROOM)), json!({"a": [1, 2.5, null]}), json!(null), json!("")] {
        let result = shaped(&results, value.clone(), &context());
        assert_eq!((result.result, result.metadata.is_empty()), (value, true));
    }
}

#[test]
fn a_large_result_keeps_its_structure_in_the_room_that_there_is() {
    let rows: Vec<_> = (0..5_000).map(|at| json!({"id": at, "text": "word ".repeat(at % 50)})).collect();
    let keys: serde_json::Map<_, _> = (0..5_000).map(|at| (format!("key {at}"), json!(at))).collect();
    let shapes = [
        json!({"total": 5_000, "rows": rows, "next": "page 2"}),
        json!(rows),
        Value::Object(keys),
        json!({"one": "x".repeat(100_000), "two": "y".repeat(100_000)}),
        json!("line\n".repeat(100_000)),
        json!("\u{1}\"\\é".repeat(100_000)),
        json!(serde_json::to_string(&rows).unwrap()),
        json!({"k".repeat(100_000): 1}),
    ];
    for value in shapes {
        let result = shaped(&results(), value.clone(), &context());
        let bytes = match &result.result {
            Value::String(text) => text.len(),
            other => other.to_string().len(),
        };
        let start: String = value.to_string().chars().take(30).collect();
        assert!(bytes <= ROOM, "{start}: {bytes} bytes");
        let told = result.result.to_string();
        assert!(told.contains(&handle(&result)) && told.contains("read_result"), "{start}: {told}");
        assert!(result.metadata["truncated_bytes"].as_u64().unwrap() > ROOM as u64, "{start}");
    }
}

#[test]
fn shaping_twice_changes_nothing() {
    let results = results();
    for value in [json!("long ".repeat(10_000)), json!({"a": vec!["x"; 10_000]})] {
        let once = shaped(&results, value, &context());
        assert_eq!(results.shape(once.clone(), None, &context()), once);
    }
}

#[test]
fn a_tool_may_ask_for_more_room_within_bounds() {
    let name = QualifiedName::new("t", "tool").unwrap();
    for (asked, tokens) in [(json!(1), MIN_RESULT_TOKENS), (json!(1_000_000_000), MAX_RESULT_TOKENS)] {
        let tool = Arc::new(Tool::new(name.clone()).with_metadata("max_result_tokens", asked));
        let most = 4 * tokens as usize;
        for (bytes, is_whole) in [(most, true), (most + 1, false)] {
            let result = ToolResult::ok(None, "t::tool", "x".repeat(bytes).into());
            let result = results().shape(result, Some(&tool), &context());
            assert_eq!(result.metadata.is_empty(), is_whole, "{bytes} of {most}");
        }
    }
}

#[test]
fn results_of_one_answer_share_its_room() {
    let results = Results::default();
    let mut context = context();
    context.sharing = 10;
    let text = "word ".repeat(1_000);
    assert!(shaped(&results, text.clone(), &context).metadata.contains_key("handle"));
    context.sharing = 4;
    assert_eq!(shaped(&results, text.clone(), &context).result, text);
}

#[test]
fn what_nests_too_deep_is_cut_off_without_stack() {
    let mut value = json!("bottom");
    for level in 0..100_000 {
        // Not by `json!`, which would copy what is inside.
        value = if level % 2 == 0 {
            Value::Array(vec![value])
        } else {
            Value::Object([("a".to_owned(), value)].into_iter().collect())
        };
    }
    let result = shaped(&results(), value, &context().with_full_results());
    assert_eq!(result.metadata["too_deep"], 1);
    let text = result.result.to_string();
    assert!(text.contains("nested deeper than 100 levels") && !text.contains("bottom"), "{text}");
    assert!(text.len() < 10 * MAX_RESULT_DEPTH, "{}", text.len());
}

#[test]
fn binary_data_becomes_a_handle_for_a_model_and_stays_for_a_program() {
    let data = "QUJD".repeat(100);
    let blocks = json!([
        {"type": "image", "data": data, "mimeType": "image/png"},
        {"uri": "file:///a", "blob": data},
        format!("data:image/gif;base64,{data}"),
        {"type": "text", "data": data},
    ]);
    let result = shaped(&results(), blocks.clone(), &context());
    let told = result.result.to_string();
    assert_eq!(told.matches(&data).count(), 1, "{told}");
    assert_eq!(
        (&result.result[0]["bytes"], &result.result[0]["mimeType"]),
        (&json!(300), &json!("image/png"))
    );
    assert!(result.result[2].as_str().unwrap().starts_with("[image/gif, 300 bytes, kept as r_"), "{told}");
    assert_eq!(shaped(&results(), blocks.clone(), &context().with_full_results()).result, blocks);
}

#[test]
fn a_program_is_given_all_within_its_bound() {
    let results = Results::default();
    let text = "x".repeat(MAX_FULL_RESULT_BYTES);
    assert_eq!(shaped(&results, text.clone(), &context().with_full_results()).result, text);
    let result = shaped(&results, text + "x", &context().with_full_results());
    assert!(result.result.as_str().unwrap().len() <= 256 * 1024);
}

#[test]
fn secrets_are_taken_out_of_results_errors_and_metadata_before_anything_is_kept() {
    let results = results().with_secrets(secrets("canary-1"));
    let large = shaped(&results, json!(vec!["canary-1 "; 5_000]), &context());
    assert!(!large.result.to_string().contains("canary-1"));
    let owner = crate::store::Owner::of(&context());
    let stored = results.store.get(&handle(&large), &owner).unwrap();
    assert!(stored.text.contains("[secret TOKEN]") && !stored.text.contains("canary-1"));

    let error = ToolError::new(ErrorKind::ToolFailed, "bad canary-1").with_hint("not canary-1");
    let failed = ToolResult::failed(None, "t::tool", error).with_metadata("note", "canary-1");
    let failed = results.shape(failed, None, &context());
    assert!(!serde_json::to_string(&failed).unwrap().contains("canary-1"), "{failed:?}");
}

#[test]
fn an_error_of_any_length_is_bounded() {
    let error = ToolError::new(ErrorKind::ToolFailed, "é".repeat(1_000_000)).with_hint("ü".repeat(1_000_000));
    let failed = results().shape(ToolResult::failed(None, "t::tool", error), None, &context());
    assert!(serde_json::to_string(&failed).unwrap().len() < 20_000);
    let noisy = ToolResult::ok(None, "t::tool", json!(1)).with_metadata("log", vec!["x".repeat(1000); 1000]);
    let noisy = results().shape(noisy, None, &context());
    assert!(serde_json::to_string(&noisy).unwrap().len() < 300_000);
}

#[test]
fn a_result_that_breaks_the_schema_of_its_tool_is_flagged_and_handed_on() {
    let tool = Tool::new(QualifiedName::new("t", "tool").unwrap()).with_output_parameters(
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
    );
    let result = ToolResult::ok(None, "t::tool", json!({"n": "x"}));
    let result = results().shape(result, Some(&Arc::new(tool)), &context());
    assert_eq!(result.result, json!({"n": "x"}));
    assert!(result.metadata["output_violations"].to_string().contains("integer"), "{result:?}");
}
