//! Tests of reading calls from text.

mod cases;
mod pieces;
mod results;
mod work;

use proptest::prelude::*;
use serde_json::json;

use super::call::MAX_TEXT_BYTES;
use super::*;

/// The tools that the cases know.
fn names() -> ToolNames {
    cases::all().names()
}

fn read(text: &str) -> ParsedText {
    parse_text_calls(text, &names())
}

#[test]
fn the_format_that_models_are_shown_is_read() {
    let parsed = parse_text_calls(TEXT_CALL_FORMAT, &ToolNames::default());
    assert_eq!(parsed.calls[0].name, "tool_name");
    assert_eq!(
        parsed.calls[0].arguments.as_ref().map(|arguments| arguments["param"].clone()),
        Ok(json!("value"))
    );
}

#[test]
fn calls_beyond_the_bound_are_one_call_that_cannot_be_read() {
    let call = r#"<tool_call>{"name": "x", "arguments": {}}</tool_call>"#;
    let list = |count| vec![r#"{"name": "x"}"#; count].join(",");
    let apart = format!("{call} and ").repeat(MAX_TEXT_CALLS + 9);
    let many = MAX_TEXT_CALLS + 9;
    for text in [call.repeat(many), apart, format!("<tool_call>[{}]</tool_call>", list(many))] {
        let parsed = read(&text);
        assert_eq!(parsed.calls.len(), MAX_TEXT_CALLS + 1);
        assert!(parsed.calls[..MAX_TEXT_CALLS].iter().all(|call| call.arguments.is_ok()));
        let why = parsed.calls[MAX_TEXT_CALLS].arguments.as_ref().unwrap_err();
        assert!(why.contains("more than 64 calls"), "{why}");
    }
    assert_eq!(read(&call.repeat(MAX_TEXT_CALLS)).calls.len(), MAX_TEXT_CALLS);
}

#[test]
fn deep_nesting_is_an_error_and_not_a_crash() {
    for deep in ["[", "{\"a\":", "[{\"a\":[", "<tool_call>", "<tools>", "```\n"] {
        let parsed = read(&format!("<tool_call>{{\"name\": \"a\", \"arguments\": {}", deep.repeat(20_000)));
        assert!(parsed.calls[0].arguments.is_err(), "{deep}");
    }
    let parsed = read(&format!("<tool_call>{{\"name\": \"a\", \"arguments\": {}", "[".repeat(20_000)));
    assert!(parsed.calls[0].arguments.as_ref().unwrap_err().contains("nested too deeply"));
    for deep in [
        "print(",
        "ls(a=[",
        "[",
        "{\"function\":",
        "{\"tool_calls\":[",
        "```json\n[",
        "<tools>",
        "<|channel|>",
        "<think>",
    ] {
        let text = deep.repeat(50_000);
        let parsed = read(&text);
        assert!(parsed.calls.iter().all(|call| call.arguments.is_err()), "{deep}");
    }
}

#[test]
fn a_message_that_is_too_long_says_so() {
    let call = r#"<tool_call>{"name": "ls", "arguments": {}}</tool_call>"#;
    let parsed = read(&format!("{call}{}{call}", "é".repeat(MAX_TEXT_BYTES / 2)));
    assert_eq!(parsed.calls.len(), 2);
    assert!(parsed.calls[1].arguments.as_ref().unwrap_err().contains("longer than 4194304 bytes"));
}

#[test]
fn without_names_nothing_that_is_doubtful_is_a_call() {
    let nobody = ToolNames::default();
    for text in [
        "{\"name\": \"ls\", \"arguments\": {}}",
        "ls()",
        "```json\n{\"name\": \"ls\", \"arguments\": {}}\n```",
    ] {
        assert_eq!(read(text).calls.len(), 1, "{text}");
        let parsed = parse_text_calls(text, &nobody);
        assert_eq!((parsed.calls, parsed.prose.as_str()), (vec![], text));
    }
}

/// A call in each notation that models fall back into.
fn notations(name: &str, arguments: &serde_json::Value) -> Vec<String> {
    let call = json!({"name": name, "arguments": arguments});
    vec![
        format!("<tool_call>{call}</tool_call>"),
        format!("<tool_call>{name} {arguments}</tool_call>"),
        format!("{name} {arguments}"),
        format!("{name}({arguments})"),
        format!("{name}\n{arguments}"),
        format!("```\n{name} {arguments}\n```"),
        format!("```json\n{call}\n```"),
        call.to_string(),
        format!("<function={name}>{arguments}</function>"),
        format!("<function={name}{arguments}</function>"),
        format!("<function={name}{arguments}>"),
        format!("<function={name}{arguments}></function>"),
        format!("<function={name}({arguments})</function>"),
        format!("<function={name}({arguments})></function>"),
        format!("[TOOL_CALLS]{name}[ARGS]{arguments}"),
        format!("Action: {name}\nAction Input: {arguments}"),
        format!(">>>{name}\n{arguments}"),
    ]
}

proptest! {
    #[test]
    fn no_call_in_a_known_notation_ends_up_as_an_answer(
        name in prop::sample::select(vec!["read", "ls", "execute_tool", "files__find_text"]),
        text in any::<String>(),
        number in any::<i32>(),
    ) {
        let arguments = json!({"text": text, "nested": {"numbers": [number]}});
        for written in notations(name, &arguments) {
            let parsed = read(&written);
            prop_assert_eq!(parsed.calls.len(), 1, "{}", written);
            prop_assert_eq!(&parsed.calls[0].name, name, "{}", written);
            let read = parsed.calls[0].arguments.clone().map(serde_json::Value::Object);
            prop_assert_eq!(read, Ok(arguments.clone()), "{}", written);
            prop_assert_eq!(parsed.prose, "", "{}", written);
        }
    }

    #[test]
    fn a_call_that_is_written_as_documented_comes_back(
        name in "[a-z_]{1,12}",
        argument in any::<String>(),
        before in "[a-z ,.\n]{0,20}",
        after in "[a-z ,.\n]{0,20}",
    ) {
        let call = json!({"name": name, "arguments": {"x": argument}});
        let parsed = read(&format!("{before}<tool_call>{call}</tool_call>{after}"));
        prop_assert_eq!(parsed.calls.len(), 1);
        prop_assert_eq!(&parsed.calls[0].name, &name);
        prop_assert_eq!(parsed.calls[0].arguments.as_ref().map(|a| a["x"].clone()), Ok(json!(argument)));
    }

    #[test]
    fn what_is_json_is_read_as_json(text in any::<String>(), number in any::<f64>(), whole in any::<i64>()) {
        let arguments = json!({"text": text, text.clone(): [number, whole, null, true], "deep": {"a": [{}]}});
        prop_assume!(!["text", "deep"].contains(&text.as_str()));
        for written in [arguments.to_string(), serde_json::to_string_pretty(&arguments).unwrap()] {
            let parsed = json_call::from_text(&written);
            let expected: serde_json::Value = serde_json::from_str(&written).unwrap();
            prop_assert_eq!(parsed.map(serde_json::Value::Object), Ok(expected));
        }
    }
}
