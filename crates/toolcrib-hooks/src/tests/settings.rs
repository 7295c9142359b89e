//! Settings that cannot be used.

use serde_json::{Value, json};

use super::configured;
use crate::{Guard, GuardSettings};

#[test]
fn a_setting_that_cannot_be_used_is_named_with_the_correct_form() {
    let base = json!({"name": "check", "when": "before", "run": ["true"]});
    let changed = |changes: Value| {
        let mut settings = base.clone();
        settings.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let error = configured(settings).unwrap_err();
        format!("{}: {error}", error.pointer)
    };
    let errors = [
        changed(json!({"name": "a check"})),
        changed(json!({"run": []})),
        changed(json!({"url": "https://example.com"})),
        changed(json!({"secret": "x"})),
        changed(json!({"run": [], "url": "https://example.com", "env": {"A": "b"}})),
        changed(json!({"run": [], "url": "example.com"})),
        changed(json!({"run": [], "url": "ftp://example.com"})),
        changed(json!({"run": [], "url": "http://127.0.0.1/", "secret": ""})),
        changed(json!({"run": [], "url": "http://127.0.0.1/", "headers": {"a b": "c"}})),
        changed(json!({"timeout_seconds": 61})),
        changed(json!({"tools": ["shop"]})),
        changed(json!({"run": ["./no-such-file"]})),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn a_guard_that_cannot_be_used_says_why() {
    let wrong = |settings: Value| {
        let settings: GuardSettings = serde_json::from_value(settings).unwrap();
        let error = Guard::new(&settings).unwrap_err();
        format!("{}: {}", error.pointer, error.message.replace('\n', " "))
    };
    let rule = |detect: &str| json!([{"detect": [detect], "action": "redact"}]);
    let errors = [
        wrong(json!({})),
        wrong(json!({"rules": rule("pi")})),
        wrong(json!({"rules": rule("weather report")})),
        wrong(json!({"rules": [{"detect": [], "action": "block"}]})),
        wrong(json!({"rules": [{"detect": ["pii"], "action": "block", "tools": ["x"]}]})),
        wrong(json!({"patterns": {"a": "("}, "rules": rule("a")})),
        wrong(json!({"patterns": {"a": "x*"}, "rules": rule("a")})),
        wrong(json!({"patterns": {"email": "x"}, "rules": rule("email")})),
        wrong(json!({"patterns": {"a b": "x"}, "rules": rule("a b")})),
        wrong(json!({"patterns": {"a": "(x{1,1000}){1,1000}"}, "rules": rule("a")})),
        wrong(json!({"patterns": {"a": "x".repeat(2_001)}, "rules": rule("a")})),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}
