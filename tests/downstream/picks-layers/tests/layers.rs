//! The layers of the packed crates.

use picks_layers::layers::{best, grants, violations};
use serde_json::json;
use toolcrib_model::{QualifiedName, Tool};

#[test]
fn tools_are_ranked() {
    let tool = |name: &str, text: &str| Tool::new(QualifiedName::new("desk", name).unwrap()).with_description(text);
    let tools = [tool("remove", "Takes a file out of a folder."), tool("send", "Sends a message to a person.")];
    assert_eq!(best(&tools, "delete this file").unwrap().as_deref(), Some("desk.remove"));
}

#[test]
fn arguments_are_validated() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    assert_eq!(violations(&schema, &json!({"city": "Oslo"})).unwrap(), "");
    assert!(violations(&schema, &json!({"citty": "Oslo"})).unwrap().contains("did you mean `city`?"));
}

#[test]
fn calls_are_decided() {
    let rules = json!({"default_policy": "deny", "grant": [{"module": "desk", "actions": ["quote"]}]});
    assert!(grants(rules.clone(), "desk", "quote").unwrap());
    assert!(!grants(rules, "desk", "book").unwrap());
}
