//! The tools of the server: their list and their results.

use std::io::{self, Write as _};

use serde_json::{Value, json};

use crate::mode::Mode;

/// The number of tools of a list that is too long for any client.
const HUGE: usize = 50_000;

/// Writes a line to standard error.
pub(crate) fn write_stderr(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn tool(name: &str, description: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    json!({"name": name, "description": description, "inputSchema": schema})
}

/// Returns a page of tools, for the `round`th request.
pub(crate) fn list(mode: Mode, round: u64, request: &Value) -> Value {
    let mut tools = vec![tool("echo", "Says it again."), tool("hang", "Hangs."), tool("exit", "Exits.")];
    match mode {
        Mode::Changes => {
            tools = vec![
                tool("echo", &format!("Says it again, as in round {round}.")),
                tool(&format!("round_{round}"), "New."),
            ];
        }
        Mode::Lies => tools.extend(lies()),
        Mode::HugeList => {
            tools.extend((0..HUGE).map(|number| tool(&format!("tool_{number}"), "One of many.")));
        }
        Mode::EndlessPages => {
            let cursor = request.pointer("/params/cursor").and_then(Value::as_str);
            let page = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0_u64);
            return json!({"tools": [tool(&format!("page_{page}"), "")], "nextCursor": (page + 1).to_string()});
        }
        _ => {}
    }
    json!({"tools": tools})
}

/// Returns tools with schemas that are invalid, or that their results violate.
fn lies() -> Vec<Value> {
    let with = |name: &str, schema: Value| json!({"name": name, "inputSchema": schema});
    let count =
        json!({"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]});
    vec![
        json!({"name": "no_schema"}),
        with("text_for_schema", json!("object")),
        with("list_for_schema", json!([])),
        with("schema_of_a_list", json!({"type": "array"})),
        with("type_that_is_none", json!({"type": "objekt"})),
        with(
            "reference_to_a_file",
            json!({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}),
        ),
        with(
            "reference_to_nothing",
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/nothing"}}}),
        ),
        json!({"name": "breaks_its_word", "inputSchema": {"type": "object"}, "outputSchema": count}),
        json!({"name": "keeps_its_word", "inputSchema": {"type": "object"}, "outputSchema": count}),
        json!({"name": "says_nothing", "inputSchema": {"type": "object"}, "outputSchema": count}),
    ]
}

/// Returns the result of a tool.
pub(crate) fn result(name: &str, arguments: &Value) -> Value {
    let text = arguments["text"].as_str().unwrap_or("called");
    let content = json!([{"type": "text", "text": text}]);
    match name {
        "breaks_its_word" => json!({"content": content, "structuredContent": {"count": "many"}}),
        "keeps_its_word" => json!({"content": content, "structuredContent": {"count": 3}}),
        _ => json!({"content": content}),
    }
}
