//! Tests of reading calls from text. The cases stand in `text_calls.jsonl`.

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{MAX_TEXT_CALLS, TEXT_CALL_FORMAT, parse_text_calls};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    promise: String,
    text: String,
    prose: String,
    calls: Vec<ExpectedCall>,
}

/// A call with its arguments, or with a part of the message that says why they cannot be read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedCall {
    name: String,
    arguments: Option<Value>,
    error: Option<String>,
}

#[test]
fn every_case_of_the_table_is_read_as_it_says() {
    let mut failures = Vec::new();
    for line in include_str!("text_calls.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let parsed = parse_text_calls(&case.text);
        let fits = parsed.calls.len() == case.calls.len()
            && parsed.calls.iter().zip(&case.calls).all(|(call, expected)| {
                call.name == expected.name
                    && match (&call.arguments, &expected.arguments, &expected.error) {
                        (Ok(arguments), Some(expected), None) => Value::from(arguments.clone()) == *expected,
                        (Err(why), None, Some(expected)) => why.contains(expected),
                        _ => false,
                    }
            });
        if !fits || parsed.prose != case.prose {
            failures.push(format!("{}: {parsed:?}", case.promise));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_format_that_models_are_shown_is_read() {
    let parsed = parse_text_calls(TEXT_CALL_FORMAT);
    assert_eq!(
        parsed.calls[0].arguments.as_ref().map(|arguments| arguments["param"].clone()),
        Ok(json!("value"))
    );
    assert_eq!(parsed.calls[0].raw, TEXT_CALL_FORMAT);
}

#[test]
fn calls_beyond_the_bound_are_one_call_that_cannot_be_read() {
    let call = r#"<tool_call>{"name": "x", "arguments": {}}</tool_call>"#;
    let array =
        format!("<tool_call>[{}]</tool_call>", vec![r#"{"name": "x"}"#; MAX_TEXT_CALLS + 9].join(","));
    for text in [call.repeat(MAX_TEXT_CALLS + 9), array] {
        let parsed = parse_text_calls(&text);
        assert_eq!(parsed.calls.len(), MAX_TEXT_CALLS + 1);
        assert!(parsed.calls[..MAX_TEXT_CALLS].iter().all(|call| call.arguments.is_ok()));
        let why = parsed.calls[MAX_TEXT_CALLS].arguments.as_ref().unwrap_err();
        assert!(why.contains("more than 64 calls"), "{why}");
        assert_eq!(parsed.prose, "");
    }
    assert_eq!(parse_text_calls(&call.repeat(MAX_TEXT_CALLS)).calls.len(), MAX_TEXT_CALLS);
}

#[test]
fn deep_nesting_is_an_error_and_not_a_crash() {
    let parsed = parse_text_calls(&format!("<tool_call>{}", "[".repeat(100_000)));
    assert!(parsed.calls[0].arguments.as_ref().unwrap_err().contains("recursion limit"));
}

proptest! {
    #[test]
    fn a_call_that_is_written_as_documented_comes_back(
        name in "[a-z_]{1,12}",
        argument in any::<String>(),
        before in "[a-z ,.\n]{0,20}",
        after in "[a-z ,.\n]{0,20}",
    ) {
        let call = json!({"name": name, "arguments": {"x": argument}});
        let parsed = parse_text_calls(&format!("{before}<tool_call>{call}</tool_call>{after}"));
        prop_assert_eq!(parsed.calls.len(), 1);
        prop_assert_eq!(&parsed.calls[0].name, &name);
        prop_assert_eq!(parsed.calls[0].arguments.as_ref().map(|a| a["x"].clone()), Ok(json!(argument)));
    }

    #[test]
    fn no_message_makes_the_parser_panic(
        text in "(<tool_call>|</tool_call>|```|json|\\{|\\}|\\[|\\]|\"name\": |\"arguments\": |\"x\"|,|é|`|\n| ){0,40}",
    ) {
        let parsed = parse_text_calls(&text);
        prop_assert!(parsed.prose.len() <= text.len());
    }
}
