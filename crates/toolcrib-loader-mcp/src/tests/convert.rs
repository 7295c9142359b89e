//! Tools, results and texts, without a server.

use rmcp::model::{CallToolResult, Tool as WireTool};
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, Risk, Tool, ToolError};

use crate::McpSource;
use crate::text::{MAX_DESCRIPTION_CHARS, clean};

fn tool(source: &McpSource, wire: Value) -> Tool {
    let wire: WireTool = serde_json::from_value(wire).unwrap();
    crate::tools::conversion::convert(source, wire).unwrap()
}

fn risk(source: &McpSource, name: &str, annotations: &Value) -> Risk {
    tool(source, json!({"name": name, "inputSchema": {}, "annotations": annotations})).traits().risk
}

fn result(wire: Value) -> Result<Value, ToolError> {
    crate::calls::result_conversion::convert(serde_json::from_value::<CallToolResult>(wire).unwrap(), "team")
}

#[test]
fn a_tool_keeps_its_schemas_and_hints() {
    let source = McpSource::stdio("weather", ["server"]);
    let input = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let output = json!({"type": "object", "properties": {"degrees": {"type": "number"}}});
    let tool = tool(
        &source,
        json!({
            "name": "get_weather", "description": "Weather now.", "inputSchema": input, "outputSchema": output,
            "annotations": {"title": "Weather", "readOnlyHint": true, "idempotentHint": true}
        }),
    );
    assert_eq!(tool.name.to_string(), "weather::get_weather");
    assert_eq!(tool.parameters, input);
    assert_eq!(tool.output_parameters, output);
    assert_eq!(tool.title(), Some("Weather"));
    assert_eq!(tool.metadata()["annotations"], json!({"readOnlyHint": true, "idempotentHint": true}));
    assert!(!tool.traits().idempotent, "the word of a server that is not trusted");
}

#[test]
fn a_tool_that_takes_no_object_is_a_misfit() {
    let schema_problem = |schema: Value| {
        let wire = json!({"name": "one", "inputSchema": schema});
        crate::tools::conversion::schema_problem(&serde_json::from_value(wire).unwrap())
    };
    for schema in
        [json!({}), json!({"type": "object"}), json!({"type": ["null", "object"]}), json!({"type": 1})]
    {
        assert_eq!(schema_problem(schema.clone()), None, "{schema}");
    }
    assert_eq!(
        schema_problem(json!({"type": ["array", "null"]})).unwrap(),
        "its `inputSchema` is of type [\"array\",\"null\"], and arguments are an object"
    );
    assert!(schema_problem(json!({"type": "string"})).is_some());
}

#[test]
fn the_risk_comes_from_the_name() {
    let source = McpSource::stdio("test", ["server"]);
    for (name, expected) in [
        ("delete_file", Risk::High),
        ("fileRemove", Risk::High),
        ("list_and_kill", Risk::High),
        ("get-weather", Risk::Low),
        ("searchRepositories", Risk::Low),
        ("get_or_create", Risk::Medium),
        ("spread", Risk::Medium),
        ("frobnicate", Risk::Medium),
    ] {
        assert_eq!(risk(&source, name, &json!({})), expected, "{name}");
    }
}

#[test]
fn hints_of_danger_count_from_anyone_and_hints_of_harmlessness_from_the_trusted() {
    let untrusted = McpSource::stdio("test", ["server"]);
    let trusted = McpSource { trusted: true, ..untrusted.clone() };
    assert_eq!(risk(&untrusted, "get_it", &json!({"destructiveHint": true})), Risk::High);
    assert_eq!(risk(&untrusted, "delete_it", &json!({"readOnlyHint": true})), Risk::High);
    assert_eq!(risk(&trusted, "delete_it", &json!({"readOnlyHint": true})), Risk::Low);
    assert_eq!(risk(&trusted, "get_it", &json!({"readOnlyHint": false})), Risk::Low);
}

#[test]
fn what_a_reader_cannot_see_is_taken_out_of_descriptions() {
    for (text, expected) in [
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("a\u{1b}[31mred\u{1b}[0m word", "ared word"),
        ("\u{1b}]0;title\u{7}text\u{1b}]8;;x\u{1b}\\link", "textlink"),
        ("\u{9b}2Jcleared\u{8}\r", "cleared"),
        ("abc\u{202e}def\u{2066}", "abcdef"),
        ("hello\u{e0041}\u{e0042}\u{e007f}", "hello"),
        ("zero\u{200b}width\u{feff}", "zerowidth"),
        ("\u{1b}]never closed\nnext", "next"),
        ("cut \u{1b}[", "cut"),
    ] {
        assert_eq!(clean(text, 100), expected, "{text:?}");
    }
}

#[test]
fn a_long_description_is_cut() {
    let source = McpSource::stdio("test", ["server"]);
    let tool = tool(&source, json!({"name": "a", "inputSchema": {}, "description": "ä".repeat(10_000)}));
    assert_eq!(tool.description.chars().count(), MAX_DESCRIPTION_CHARS + 1);
    assert!(tool.description.ends_with("ä…"));
}

#[test]
fn text_is_joined_and_structured_content_wins() {
    let text = |text| json!({"type": "text", "text": text});
    assert_eq!(result(json!({"content": [text("a"), text("b")]})).unwrap(), "a\nb");
    assert_eq!(result(json!({"content": []})).unwrap(), Value::Null);
    let structured = json!({"content": [text("{}")], "structuredContent": {"degrees": 3}});
    assert_eq!(result(structured).unwrap(), json!({"degrees": 3}));
}

#[test]
fn other_content_is_a_list_of_blocks_with_addresses_that_others_can_read() {
    let blocks = json!([
        {"type": "text", "text": "look"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "file:///a", "name": "a"},
        {"type": "resource", "resource": {"uri": "file:///b", "mimeType": "text/plain", "text": "b"}}
    ]);
    let mut expected = blocks.clone();
    expected[3]["uri"] = json!("toolcrib://team/file:///a");
    expected[4]["resource"]["uri"] = json!("toolcrib://team/file:///b");
    assert_eq!(result(json!({"content": blocks})).unwrap(), expected);
    let both = json!({"content": blocks, "structuredContent": 1});
    assert_eq!(result(both).unwrap(), json!({"structuredContent": 1, "content": expected}));
}

#[test]
fn a_reported_failure_is_an_error_that_a_model_can_read() {
    let error =
        result(json!({"isError": true, "content": [{"type": "text", "text": "no such\u{1b}[1m city"}]}));
    let error = error.unwrap_err();
    assert_eq!((error.kind, &*error.message), (ErrorKind::ToolFailed, "no such city"));
    let error =
        result(json!({"isError": true, "content": [], "structuredContent": {"code": 4}})).unwrap_err();
    assert_eq!(error.message, r#"{"code":4}"#);
    let error = result(json!({"isError": true, "content": []})).unwrap_err();
    assert!(error.message.contains("gave no reason"));
}

#[test]
fn a_target_shows_no_secrets() {
    for (url, expected) in [
        ("https://me:pw@example.com/mcp?key=1#x", "https://example.com/mcp"),
        ("http://example.com", "http://example.com"),
        ("https://example.com/@scope/mcp", "https://example.com/@scope/mcp"),
        ("nonsense", "nonsense"),
    ] {
        assert_eq!(McpSource::http("test", url).target(), expected);
    }
}
