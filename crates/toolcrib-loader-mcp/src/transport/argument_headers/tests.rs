//! Which marks are good, and what is sent for them.

use serde_json::{Value, json};

use super::{ArgumentHeaders, check, encode};

fn checked(schema: &Value) -> Result<(), String> {
    check(schema.as_object().unwrap())
}

#[test]
fn marks_that_are_no_headers_are_found_wherever_they_stand() {
    let of = |property: Value| json!({"type": "object", "properties": {"a": property}});
    let marked = json!({"type": "string", "x-mcp-header": "A"});
    for (schema, is_good) in [
        (json!({"type": "object"}), true),
        (of(marked.clone()), true),
        (of(json!({"type": "integer", "x-mcp-header": "A-1"})), true),
        (of(json!({"type": "object", "properties": {"b": marked}})), true),
        (of(json!({"type": "string", "default": {"x-mcp-header": 1}})), true),
        (of(json!({"type": "string", "enum": [{"x-mcp-header": 1}]})), true),
        (json!({"properties": {"x-mcp-header": {"type": "string"}}}), true),
        (of(json!({"type": "string", "x-mcp-header": ""})), false),
        (of(json!({"type": "string", "x-mcp-header": "My A"})), false),
        (of(json!({"type": "string", "x-mcp-header": "A:B"})), false),
        (of(json!({"type": "string", "x-mcp-header": "Régional"})), false),
        (of(json!({"type": "string", "x-mcp-header": "A\t"})), false),
        (of(json!({"type": "string", "x-mcp-header": 1})), false),
        (of(json!({"type": "number", "x-mcp-header": "A"})), false),
        (of(json!({"type": ["string", "null"], "x-mcp-header": "A"})), false),
        (of(json!({"x-mcp-header": "A"})), false),
        (of(json!({"type": "array", "items": marked})), false),
        (of(json!({"oneOf": [marked]})), false),
        (of(json!({"type": "object", "additionalProperties": marked})), false),
        (json!({"x-mcp-header": "A"}), false),
        (json!({"$defs": {"a": marked}}), false),
        (json!({"allOf": [{"properties": {"a": marked}}]}), false),
        (json!({"properties": {"a": marked, "b": {"type": "string", "x-mcp-header": "a"}}}), false),
    ] {
        assert_eq!(checked(&schema).is_ok(), is_good, "{schema} {:?}", checked(&schema));
    }
}

#[test]
fn a_text_goes_as_it_is_where_it_arrives_as_it_is() {
    for (text, sent) in [
        ("", ""),
        ("us west 1", "us west 1"),
        ("~!#", "~!#"),
        (" a", "=?base64?IGE=?="),
        ("a\t", "=?base64?YQk=?="),
        ("a\r\nb: c", "=?base64?YQ0KYjogYw==?="),
        ("\u{7f}", "=?base64?fw==?="),
        ("世界", "=?base64?5LiW55WM?="),
        ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
        ("=?base64?", "=?base64?"),
    ] {
        assert_eq!(encode(text), sent, "{text:?}");
    }
}

#[test]
fn only_what_is_there_and_plain_is_sent() {
    let mark = |name: &str| json!({"type": "string", "x-mcp-header": name});
    let schema = json!({"properties": {
        "text": mark("Text"), "number": mark("Number"), "flag": mark("Flag"), "nothing": mark("Nothing"),
        "absent": mark("Absent"), "list": mark("List"), "bad": mark("Not a name"),
        "deep": {"properties": {"er": mark("Deeper")}}, "plain": {"type": "string"},
    }});
    let arguments = json!({
        "text": "a", "number": 4, "flag": false, "nothing": null, "list": [1], "bad": "b", "deep": {"er": "c"},
        "plain": "d",
    });
    let ArgumentHeaders(headers) = ArgumentHeaders::of(&schema, arguments.as_object().unwrap());
    let mut sent: Vec<_> =
        headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    sent.sort();
    let expected =
        ["mcp-param-deeper: c", "mcp-param-flag: false", "mcp-param-number: 4", "mcp-param-text: a"];
    assert_eq!(sent, expected);
}
