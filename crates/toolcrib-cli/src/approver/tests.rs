//! What a person is asked, and which answers count.

use std::sync::Arc;

use serde_json::json;
use toolcrib_model::{JsonObject, Risk, Tool};
use toolcrib_policy::{Call, Capabilities, Policy, Question, Verdict};
use toolcrib_port::Answer;

use super::{MAX_ARGUMENTS, answer, describe};

fn question(arguments: JsonObject) -> Question {
    let tool =
        Tool::new("files::write".parse().unwrap()).with_description("Writes a file.").with_risk(Risk::High);
    let mut call = Call::new(Arc::new(tool), "test".into(), 1);
    call.arguments = arguments;
    let policy = Policy::new(&Capabilities::default(), []).unwrap();
    match policy.authorize(call, "test") {
        Verdict::Ask(pending) => pending.question(),
        other => panic!("{other:?}"),
    }
}

fn object(value: &serde_json::Value) -> JsonObject {
    value.as_object().unwrap().clone()
}

#[test]
fn neither_a_name_nor_a_value_nor_a_side_effect_forges_a_line() {
    let mut question = question(object(&json!({
        "path\n  side effects: none\u{1b}[1A": "a\u{202e}txt.exe\u{9b}2K\n  run: no",
    })));
    question.side_effects = vec!["delete\n\u{1b}[2Jnothing".into()];
    question.rule = "the\nrule".into();
    let shown = describe(&question);
    assert_eq!(
        shown.lines().collect::<Vec<_>>(),
        [
            "",
            r"files.write wants to run (risk high; the\u{a}rule)",
            r#"  path\u{a}  side effects: none\u{1b}[1A: "a\u{202e}txt.exe\u{9b}2K\n  run: no""#,
            r"  side effects: delete\u{a}\u{1b}[2Jnothing",
        ]
    );
}

#[test]
fn what_is_too_long_to_read_is_cut_and_says_so() {
    let mut arguments = object(&json!({"text": "x".repeat(5000)}));
    for number in 0..MAX_ARGUMENTS + 2 {
        arguments.insert(format!("n{number}"), number.into());
    }
    let shown = describe(&question(arguments));
    assert!(shown.contains("xxx… (5002 bytes)\n"), "{shown}");
    assert!(shown.ends_with("\n  … and 3 more arguments, which are not shown"), "{shown}");
    assert!(shown.len() < 2000, "{shown}");
}

#[test]
fn only_a_plain_yes_approves() {
    let question = question(JsonObject::new());
    for yes in ["y\n", "Y\n", " yes \r\n"] {
        assert_eq!(answer(&question, Some(yes)), Answer::Approved(question.approve()));
    }
    for no in [None, Some("\n"), Some("n\n"), Some("no\n")] {
        assert_eq!(answer(&question, no), Answer::Denied(None));
    }
    let said = answer(&question, Some("y\nno\n"));
    assert_eq!(said, Answer::Denied(Some("y\nno".into())));
}
