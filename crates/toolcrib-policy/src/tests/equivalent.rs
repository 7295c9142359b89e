//! What the policy promises of a call that amounts to a call of another tool.

use serde_json::{Value, json};
use toolcrib_model::tool::EquivalentCall;
use toolcrib_model::{Risk, Tool};

use super::{Arc, Call, Effect, effect_of, object, policy, tool};

/// `mcp_notes.search`, which is `mcp.call_tool` with the server `notes`.
fn search() -> Tool {
    tool("mcp_notes", "search").with_risk(Risk::Medium).with_equivalent(EquivalentCall {
        tool: Arc::new(tool("mcp", "call_tool").with_risk(Risk::High)),
        source: "module mcp".into(),
        fixed: object(&json!({"server": "notes", "tool": "search"})),
        arguments_key: "arguments".to_owned(),
    })
}

fn effect(capabilities: Value, arguments: &Value) -> (Effect, Effect) {
    let policy = policy(capabilities);
    let mut call = Call::new(Arc::new(search()), "mcp notes".into(), 1);
    call.arguments = object(arguments);
    (policy.decide(&search(), "s").effect, effect_of(&policy, call, "s"))
}

#[test]
fn the_stricter_of_the_rules_for_a_call_and_for_its_equivalent_decides() {
    use Effect::{Approve, Deny, Grant};
    let by_name = json!({"module": "mcp", "actions": ["call_tool"]});
    let own = json!({"module": "mcp_notes"});
    let with = |path: &str, value: &str| json!({"module": "mcp", "actions": ["call_tool"], "arguments": [{"path": path, "equals": value}]});
    for (capabilities, visible, called) in [
        // A tool of high risk asks unless it is granted by name.
        (json!({"default_policy": "grant"}), Approve, Approve),
        (json!({"default_policy": "grant", "grant": [by_name]}), Grant, Grant),
        (json!({"default_policy": "approve", "grant": [by_name]}), Approve, Approve),
        (json!({"default_policy": "grant", "grant": [by_name], "approve": [own]}), Approve, Approve),
        (json!({"default_policy": "grant", "grant": [by_name], "deny": [own]}), Deny, Deny),
        (json!({"default_policy": "grant", "deny": [by_name]}), Deny, Deny),
        (json!({"default_policy": "grant", "grant": [by_name], "max_risk_level": "medium"}), Deny, Deny),
        // What is known of the other call before its arguments are, decides already.
        (json!({"default_policy": "grant", "deny": [with("/server", "notes")]}), Deny, Deny),
        (
            json!({"default_policy": "grant", "grant": [by_name], "deny": [with("/server", "x")]}),
            Grant,
            Grant,
        ),
        (
            json!({"default_policy": "grant", "grant": [by_name], "deny": [with("/arguments/q", "x")]}),
            Grant,
            Deny,
        ),
        (
            json!({"default_policy": "grant", "grant": [by_name], "deny": [with("/arguments/q", "y")]}),
            Grant,
            Grant,
        ),
        (json!({"default_policy": "grant", "grant": [by_name], "deny": [with("/*", "notes")]}), Grant, Deny),
    ] {
        assert_eq!(effect(capabilities.clone(), &json!({"q": "x"})), (visible, called), "{capabilities}");
    }
}

#[test]
fn a_decision_by_the_equivalent_says_so_in_its_rule() {
    let decision = policy(json!({"default_policy": "grant"})).decide(&search(), "s");
    assert_eq!(decision.rule.as_ref(), "high risk, as a call of `mcp.call_tool`");
}
