//! What the data model promises.

mod traits;

use serde_json::{Value, json};

use crate::text::canonical_json;
use crate::{ErrorKind, Fingerprint, NameError, QualifiedName, Secret, Tool, ToolCall, ToolResult};

#[test]
fn canonical_json_is_what_python_writes() {
    for (given, expected) in [
        (json!({"b": 1, "a": 2}), r#"{"a":2,"b":1}"#),
        (json!({"t": "\u{e9}\u{1F600}\u{7f}\u{2028}\n"}), r#"{"t":"\u00e9\ud83d\ude00\u007f\u2028\n"}"#),
        (
            json!([1.0, -0.0, 1e16, 1e22, 1e-7, 0.1, 1.5e300, 0.0001]),
            "[1.0,-0.0,1e+16,1e+22,1e-07,0.1,1.5e+300,0.0001]",
        ),
        (json!({"\u{ffff}": 1, "\u{1F600}": 2, "Z": 3}), r#"{"Z":3,"\uffff":1,"\ud83d\ude00":2}"#),
    ] {
        assert_eq!(canonical_json(&given), expected);
    }
}

#[test]
fn fingerprint_reads_back_what_it_writes() {
    let fingerprint = Fingerprint::of(&json!({}));
    assert_eq!(fingerprint.to_string(), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    assert_eq!(Fingerprint::try_from(fingerprint.to_string()), Ok(fingerprint));
    assert!(Fingerprint::try_from("44").is_err());
}

#[test]
fn a_name_has_two_visible_parts() {
    assert!(matches!("read".parse::<QualifiedName>(), Err(NameError::NotQualified { .. })));
    assert!(matches!(QualifiedName::new("", "read"), Err(NameError::Empty { part: "namespace" })));
    assert!(matches!(QualifiedName::new("a", "b::c"), Err(NameError::Separator { part: "name", .. })));
    assert!(matches!(
        QualifiedName::new("a", "re\u{200b}ad"),
        Err(NameError::Invisible { code: 0x200b, .. })
    ));
    assert!(matches!(QualifiedName::new("a", "x".repeat(257)), Err(NameError::TooLong { chars: 257, .. })));
}

#[test]
fn tool_round_trips_and_keeps_the_order_of_properties() {
    let given = json!({
        "name": "get", "namespace": "api", "description": "d",
        "parameters": {"type": "object", "properties": {"z": {}, "a": {}}},
        "output_parameters": {}, "metadata": {"risk": "high"}
    });
    let tool: Tool = serde_json::from_value(given.clone()).unwrap();
    assert_eq!(tool.traits().risk.as_str(), "high");
    assert_eq!(tool.parameter_names().collect::<Vec<_>>(), ["z", "a"]);
    assert_eq!(serde_json::to_string(&tool).unwrap(), given.to_string());
}

#[test]
fn tool_reads_a_qualified_name() {
    let tool: Tool = serde_json::from_value(json!({"name": "api::get"})).unwrap();
    assert_eq!(tool.name.to_string(), "api::get");
    assert!(serde_json::from_value::<Tool>(json!({"name": "get"})).is_err());
    assert!(serde_json::from_value::<Tool>(json!({"name": "a::b", "parameters": 5})).is_err());
}

#[test]
fn call_reads_leniently_and_writes_strictly() {
    let strict = json!({"name": "a::b", "arguments": {"x": 1}, "call_id": "7"});
    for given in
        [strict.clone(), json!({"name": "b", "namespace": "a", "arguments": "{\"x\": 1}", "id": "7"})]
    {
        let call: ToolCall = serde_json::from_value(given).unwrap();
        assert_eq!(serde_json::to_value(&call).unwrap(), strict);
    }
    assert!(serde_json::from_value::<ToolCall>(json!({"name": "a::b", "arguments": [1]})).is_err());
}

#[test]
fn result_reads_a_plain_text_error() {
    let result: ToolResult = serde_json::from_value(json!({"name": "a::b", "error": "boom"})).unwrap();
    assert_eq!(result.error.unwrap().kind, ErrorKind::ToolFailed);
    let result: ToolResult = serde_json::from_value(json!({"name": "a::b", "result": 5})).unwrap();
    assert_eq!(result.result, Value::from(5));
    assert!(result.is_ok());
}

#[test]
fn every_error_kind_is_written_as_it_says() {
    for kind in
        [ErrorKind::UnknownTool, ErrorKind::InvalidArgs, ErrorKind::OutcomeUnknown, ErrorKind::Internal]
    {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
    }
}

#[test]
fn a_secret_does_not_print() {
    let secret = Secret::new("hunter2");
    assert_eq!(format!("{secret} {secret:?}"), "[secret] [secret]");
    assert_eq!(secret.expose(), "hunter2");
}

#[test]
fn a_field_takes_what_a_person_writes_for_its_kind_and_nothing_else() {
    use crate::FieldKind;
    let all = || vec!["red".into(), "2".into(), "blue".into()];
    let (choice, choices) = (|| FieldKind::Choice(all()), || FieldKind::Choices(all()));
    for (kind, text, value) in [
        (FieldKind::Text, " as it is ", Some(json!(" as it is "))),
        (FieldKind::Number, " 2.5\n", Some(json!(2.5))),
        (FieldKind::Number, "-1e3", Some(json!(-1000.0))),
        (FieldKind::Number, "2,5", None),
        (FieldKind::Number, "NaN", None),
        (FieldKind::Integer, "42", Some(json!(42))),
        (FieldKind::Integer, "4.2", None),
        (FieldKind::Boolean, "Yes", Some(json!(true))),
        (FieldKind::Boolean, "n", Some(json!(false))),
        (FieldKind::Boolean, "maybe", None),
        (choice(), "blue", Some(json!("blue"))),
        (choice(), "1", Some(json!("red"))),
        // A choice that reads like a number means itself.
        (choice(), "2", Some(json!("2"))),
        (choice(), "3", Some(json!("blue"))),
        (choice(), "0", None),
        (choice(), "4", None),
        (choice(), "green", None),
        (choices(), "3, red", Some(json!(["blue", "red"]))),
        (choices(), "2", Some(json!(["2"]))),
        (choices(), "1, red", None),
        (choices(), "1,,3", None),
        (choices(), "green", None),
    ] {
        let parsed = kind.parse(text);
        assert_eq!(parsed.as_ref().ok(), value.as_ref(), "{kind:?} {text:?}");
        assert!(parsed.is_ok_and(|value| kind.accepts(&value)) || value.is_none(), "{kind:?} {text:?}");
    }
    assert!(choices().accepts(&json!([])) && !choices().accepts(&json!("red")));
    assert!(!choice().accepts(&json!("green")) && !FieldKind::Integer.accepts(&json!(1.5)));
}

/// The kind behind another in the order of their declaration.
fn next(kind: ErrorKind) -> Option<ErrorKind> {
    Some(match kind {
        ErrorKind::UnknownTool => ErrorKind::AmbiguousTool,
        ErrorKind::AmbiguousTool => ErrorKind::MalformedCall,
        ErrorKind::MalformedCall => ErrorKind::InvalidArgs,
        ErrorKind::InvalidArgs => ErrorKind::Denied,
        ErrorKind::Denied => ErrorKind::ApprovalRequired,
        ErrorKind::ApprovalRequired => ErrorKind::ApprovalDenied,
        ErrorKind::ApprovalDenied => ErrorKind::ToolFailed,
        ErrorKind::ToolFailed => ErrorKind::Timeout,
        ErrorKind::Timeout => ErrorKind::Cancelled,
        ErrorKind::Cancelled => ErrorKind::Unavailable,
        ErrorKind::Unavailable => ErrorKind::Overloaded,
        ErrorKind::Overloaded => ErrorKind::ToolChanged,
        ErrorKind::ToolChanged => ErrorKind::OutcomeUnknown,
        ErrorKind::OutcomeUnknown => ErrorKind::InputRequired,
        ErrorKind::InputRequired => ErrorKind::LimitReached,
        ErrorKind::LimitReached => ErrorKind::NotFound,
        ErrorKind::NotFound => ErrorKind::Internal,
        ErrorKind::Internal => return None,
    })
}

#[test]
fn the_reference_lists_every_kind_of_error_with_its_cause_and_remedy() {
    let page = include_str!("../../../docs/reference/errors.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let rows: Vec<(&str, bool)> = rows
        .map(|(kind, rest)| {
            let cells: Vec<&str> = rest.trim_end_matches('|').split(" | ").map(str::trim).collect();
            assert!(cells.len() == 3 && cells.iter().all(|cell| !cell.is_empty()), "{kind}: {cells:?}");
            (kind, cells[0] == "yes")
        })
        .collect();
    let kinds = std::iter::successors(Some(ErrorKind::UnknownTool), |kind| next(*kind));
    let expected: Vec<(&str, bool)> = kinds.map(|kind| (kind.as_str(), kind.is_retryable())).collect();
    assert_eq!(rows, expected);
}
