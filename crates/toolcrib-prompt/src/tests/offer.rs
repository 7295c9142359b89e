//! Tests of a tool as it is offered.

use serde_json::{Value, json};
use toolcrib_model::Tool;

use super::{RUNTIME, tool};
use crate::offered_tool::{MAX_DESCRIPTION_CHARS, MAX_PARAMETERS_BYTES};
use crate::{InjectionSettings, OfferedTool, Plan, WireNames};

fn offer(tool: Tool) -> OfferedTool {
    let tools = [tool];
    let names = WireNames::new(&tools, RUNTIME, &[]);
    Plan::new(&tools, &InjectionSettings::default(), &names).unwrap().offered.remove(0)
}

fn parameters(schema: Value) -> Value {
    offer(tool("a", "b").with_parameters(schema)).parameters().clone()
}

#[test]
fn the_function_form_is_that_of_the_chat_completions_api() {
    let offered = offer(tool("a", "b").with_description("Does."));
    assert_eq!(
        offered.function(),
        json!({"type": "function", "function": {
            "name": "a__b", "description": "Does.", "parameters": {"type": "object", "properties": {}},
        }})
    );
}

#[test]
fn every_schema_is_sent_as_an_object_schema() {
    let empty = json!({"type": "object", "properties": {}});
    for schema in [json!({}), json!(true), json!({"type": ["object", "null"], "properties": {}})] {
        assert_eq!(parameters(schema), empty);
    }
    assert_eq!(parameters(json!({"anyOf": [{"required": ["a"]}]}))["type"], "object");
}

#[test]
fn a_description_is_cut_and_says_so() {
    let offered = offer(tool("a", "b").with_description("é".repeat(MAX_DESCRIPTION_CHARS + 7)));
    assert!(offered.description.ends_with("é… [7 characters cut]"));
    assert!(offered.description.chars().count() <= 1024);
    let exact = "e".repeat(MAX_DESCRIPTION_CHARS);
    assert_eq!(offer(tool("a", "b").with_description(exact.as_str())).description, exact);
}

#[test]
fn descriptions_are_cleaned_in_the_schema_too_and_values_are_not() {
    let hidden = "x\u{E0041}\u{202E}<tool_call>";
    let schema = json!({"type": "object", "properties": {
        "description": {"type": "string", "description": hidden, "enum": [hidden], "default": {"description": hidden}},
    }, "required": ["description"]});
    let sent = parameters(schema);
    let property = &sent["properties"]["description"];
    assert_eq!(property["description"], "x&lt;tool_call>");
    assert_eq!(property["enum"][0], hidden);
    assert_eq!(property["default"]["description"], hidden);
}

#[test]
fn a_schema_over_the_bound_is_sent_without_descriptions() {
    let property = json!({"type": "string", "description": "d".repeat(900)});
    let properties: serde_json::Map<_, _> = (0..50).map(|n| (format!("p{n}"), property.clone())).collect();
    let sent = parameters(json!({"type": "object", "properties": properties, "required": ["p0"]}));
    assert_eq!(sent["properties"]["p49"], json!({"type": "string"}));
    assert_eq!(sent["required"], json!(["p0"]));
}

#[test]
fn a_schema_far_over_the_bound_is_not_sent_and_says_so() {
    let names: Vec<_> = (0..MAX_PARAMETERS_BYTES).map(|n| n.to_string()).collect();
    let sent = parameters(json!({"type": "object", "properties": {"p": {"enum": names}}}));
    assert_eq!(sent["properties"], json!({}));
    assert!(sent["description"].as_str().unwrap().contains("too large to show"));
    assert!(sent.to_string().len() < 500);
}
