//! Which names are refused, whatever way they come.

use serde_json::{Value, json};
use toolcrib_document::{Format, Limits, parse};
use toolcrib_port::{LoadOutcome, RejectKind, ToolLoader};

use super::load_as;
use crate::InlineLoader;

/// A tool, and what is said of its name or namespace.
fn refused() -> Vec<(Value, &'static str)> {
    let long = "n".repeat(257);
    vec![
        (json!({"name": ""}), "the `name` of the tool is empty"),
        (json!({"name": "  "}), "the `name` of the tool is empty"),
        (json!({"description": "d"}), "the tool has no `name`"),
        (json!({"name": 5}), "the `name` of a tool should be a text"),
        (json!({"name": "a::"}), "the name is empty"),
        (json!({"name": "::a"}), "the namespace is empty"),
        (json!({"name": "a", "namespace": ""}), "the namespace is empty"),
        (json!({"name": "a", "namespace": ["x"]}), "the `namespace` of `a` should be a text"),
        (json!({"name": "a::b::c"}), "the name \"b::c\" contains `::`"),
        (json!({"name": "b::c", "namespace": "a"}), "the name \"b::c\" contains `::`"),
        (json!({"name": "a", "namespace": "x::y"}), "the namespace \"x::y\" contains `::`"),
        (json!({"name": long}), "the name has 257 characters, more than 256"),
        (json!({"name": "a", "namespace": long}), "the namespace has 257 characters, more than 256"),
        (json!({"name": "a\nb"}), "U+000A"),
        (json!({"name": "a\u{7}b"}), "U+0007"),
        (json!({"name": "a\u{0}"}), "U+0000"),
        (json!({"name": "a\u{85}b"}), "U+0085"),
        (json!({"name": "re\u{200B}ad"}), "U+200B"),
        (json!({"name": "re\u{200D}ad"}), "U+200D"),
        (json!({"name": "\u{FEFF}read"}), "U+FEFF"),
        (json!({"name": "a\u{202E}b"}), "U+202E"),
        (json!({"name": "a\u{AD}b"}), "U+00AD"),
        (json!({"name": "a", "namespace": "x\u{200B}y"}), "U+200B"),
    ]
}

async fn inline(tool: &Value) -> LoadOutcome {
    let text = json!({"tools": [tool, {"name": "good"}]}).to_string();
    let document = parse(text.as_bytes(), Format::Json, &Limits::default()).unwrap();
    InlineLoader::new(&document, "/tools", "desk", "app.yaml").load().await
}

#[tokio::test]
async fn a_name_that_is_none_is_refused_with_the_reason_and_its_sibling_loads() {
    for (tool, reason) in refused() {
        let good = json!({"name": "good"});
        let list = json!([tool, good]).to_string();
        let lines = format!("{tool}\n{good}\n");
        let wrapped = json!([{"type": "function", "function": tool}, good]).to_string();
        for (way, loaded) in [
            ("JSON", load_as("t.json", &list, None).await),
            ("YAML", load_as("t.yaml", &list, None).await),
            ("JSON Lines", load_as("t.jsonl", &lines, None).await),
            ("the form of OpenAI", load_as("t.json", &wrapped, None).await),
            ("inline", inline(&tool).await),
        ] {
            assert_eq!(loaded.tools.len(), 1, "{way}: {tool}");
            let [reject] = loaded.rejected.as_slice() else { panic!("{way}: {tool}: {:?}", loaded.rejected) };
            assert_eq!(reject.kind, RejectKind::InvalidTool, "{way}");
            assert!(reject.reason.contains(reason), "{way}: {tool}: {}", reject.reason);
            assert!(reject.name.is_some(), "{way}: the source as a whole did load");
        }
    }
}

#[tokio::test]
async fn a_key_that_names_a_tool_or_a_namespace_is_held_to_the_same() {
    for (file, reason) in [
        (json!({"": {"description": "d"}}), "the name is empty"),
        (json!({"a\u{200B}": {"description": "d"}}), "U+200B"),
        (json!({"a::b::c": {"description": "d"}}), "contains `::`"),
        (json!({"": [{"name": "a"}]}), "the namespace is empty"),
        (json!({"x\u{200B}": [{"name": "a"}]}), "U+200B"),
        (json!({"x::y": [{"name": "a"}]}), "contains `::`"),
        (json!({"namespace": "x\u{202E}", "tools": [{"name": "a"}]}), "U+202E"),
    ] {
        let loaded = load_as("t.json", &file.to_string(), None).await;
        assert!(loaded.tools.is_empty(), "{file}");
        assert!(loaded.rejected[0].reason.contains(reason), "{file}: {}", loaded.rejected[0].reason);
    }
    let loaded = load_as("t.yaml", "[{name: a}]", Some("x\u{200B}")).await;
    assert!(loaded.tools.is_empty() && loaded.rejected[0].reason.contains("U+200B"));
}
