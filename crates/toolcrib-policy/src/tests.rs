//! What the policy promises.

mod approvals;
mod clients;
mod equivalent;
mod people;
mod profiles;
mod properties;
mod scopes;
mod views;

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_model::{JsonObject, QualifiedName, Risk, Tool};

use crate::{Call, Capabilities, Constraints, Effect, Policy, Principal, RUNTIME_NAMESPACE, Verdict};

fn tool(namespace: &str, name: &str) -> Tool {
    Tool::new(QualifiedName::new(namespace, name).unwrap())
}

fn policy(capabilities: serde_json::Value) -> Policy {
    let capabilities: Capabilities = serde_json::from_value(capabilities).unwrap();
    Policy::new(&capabilities, []).unwrap()
}

fn object(value: &Value) -> JsonObject {
    value.as_object().unwrap().clone()
}

fn call(namespace: &str, name: &str, arguments: &Value) -> Call {
    let mut call = Call::new(Arc::new(tool(namespace, name)), namespace.into(), 1);
    call.arguments = object(arguments);
    call
}

fn effect_of<'p>(policy: &Policy, call: Call, principal: impl Into<Principal<'p>>) -> Effect {
    match policy.authorize(call, principal) {
        Verdict::Granted(_) => Effect::Grant,
        Verdict::Ask(_) => Effect::Approve,
        Verdict::Denied(_) => Effect::Deny,
    }
}

#[test]
fn deny_beats_approve_beats_grant_beats_default() {
    let policy = policy(json!({
        "default_policy": "grant",
        "grant": [{"module": "a"}, {"module": "b"}],
        "approve": [{"module": "a"}, {"module": "c"}],
        "deny": [{"module": "a", "actions": ["rm"]}],
    }));
    for (namespace, name, effect, rule) in [
        ("a", "rm", Effect::Deny, "deny[0]"),
        ("a", "ls", Effect::Approve, "approve[0]"),
        ("b", "ls", Effect::Grant, "grant[1]"),
        ("d", "ls", Effect::Grant, "default_policy"),
    ] {
        let decision = policy.decide(&tool(namespace, name), "s");
        assert_eq!((decision.effect, decision.rule.as_ref()), (effect, rule), "{namespace}.{name}");
    }
}

#[test]
fn a_policy_that_says_nothing_asks() {
    let policy = policy(json!({}));
    assert_eq!(policy.decide(&tool("a", "b"), "s").effect, Effect::Approve);
    assert_eq!(policy.decide(&tool(RUNTIME_NAMESPACE, "search_tools"), "s").effect, Effect::Grant);
}

#[test]
fn the_runtimes_own_tools_obey_a_rule_that_names_them() {
    let policy = policy(json!({"deny": [{"module": RUNTIME_NAMESPACE, "actions": ["run_*"]}]}));
    assert!(!policy.is_visible(&tool(RUNTIME_NAMESPACE, "run_parallel"), "s"));
    assert!(policy.is_visible(&tool(RUNTIME_NAMESPACE, "search_tools"), "s"));
}

#[test]
fn constraints_hide_actions_of_their_module_only() {
    let capabilities: Capabilities = serde_json::from_value(json!({"default_policy": "grant"})).unwrap();
    let constraints = Constraints {
        allowed_actions: Some(vec!["read*".into(), "ls".into()]),
        blocked_actions: vec!["read_all".into()],
    };
    let policy = Policy::new(&capabilities, [("fs", &constraints)]).unwrap();
    for (namespace, name, visible) in
        [("fs", "read", true), ("fs", "read_all", false), ("fs", "write", false), ("other", "write", true)]
    {
        assert_eq!(policy.is_visible(&tool(namespace, name), "s"), visible, "{namespace}.{name}");
    }
}

#[test]
fn high_risk_and_confirmation_ask_unless_granted_by_name() {
    let policy = policy(json!({"grant": [
        {"module": "a"}, {"module": "b", "actions": ["drop"]}, {"module": "c", "actions": ["dr*"]}
    ]}));
    let high = |namespace| tool(namespace, "drop").with_risk(Risk::High);
    assert_eq!(policy.decide(&high("a"), "s").effect, Effect::Approve);
    assert_eq!(policy.decide(&high("b"), "s").effect, Effect::Grant);
    assert_eq!(policy.decide(&high("c"), "s").effect, Effect::Approve);
    let confirmed = tool("a", "send").with_metadata("confirmation_required", true);
    assert_eq!(policy.decide(&confirmed, "s").effect, Effect::Approve);
    assert_eq!(policy.decide(&tool("a", "send"), "s").effect, Effect::Grant);
    // What is no yes and no no, as `yes` is a text in YAML, is taken for a yes.
    for (said, effect) in [
        (json!("yes"), Effect::Approve),
        (json!("true"), Effect::Approve),
        (json!(1), Effect::Approve),
        (json!(false), Effect::Grant),
        (json!(null), Effect::Grant),
    ] {
        let confirmed = tool("a", "send").with_metadata("confirmation_required", said.clone());
        assert_eq!(policy.decide(&confirmed, "s").effect, effect, "{said}");
    }
}

#[test]
fn max_risk_level_denies_what_is_above_it() {
    let policy = policy(json!({"max_risk_level": "medium", "grant": [{"module": "a", "actions": ["drop"]}]}));
    assert!(!policy.is_visible(&tool("a", "drop").with_risk(Risk::High), "s"));
    assert!(policy.is_visible(&tool("a", "drop"), "s"));
}

#[test]
fn a_broken_pattern_names_its_rule() {
    let capabilities: Capabilities = serde_json::from_value(json!({"deny": [{"module": "a[" }]})).unwrap();
    let error = Policy::new(&capabilities, []).unwrap_err();
    assert_eq!(error.to_string(), "deny[0].module: `a[` is not a valid pattern");
}

#[test]
fn a_pattern_that_is_too_long_too_deep_or_too_large_is_refused() {
    let deep = format!("{}a{}", "{".repeat(400), "}".repeat(400));
    for (pattern, message) in [
        ("a".repeat(5000), "5000 bytes of a pattern, more than 1000"),
        ("?".repeat(5000), "5000 bytes of a pattern, more than 1000"),
        (deep.clone(), "is not a valid pattern"),
    ] {
        for rules in [
            json!({"deny": [{"module": pattern}]}),
            json!({"deny": [{"module": "a", "agent": pattern}]}),
            json!({"access": {"filesystem": [{"path": format!("*{pattern}")}]}}),
        ] {
            let rules: Capabilities = serde_json::from_value(rules).unwrap();
            let error = Policy::new(&rules, []).unwrap_err().to_string();
            assert!(error.contains(message) || error.contains("5001 bytes of a pattern"), "{error}");
        }
    }
}

#[test]
fn a_hostile_pattern_takes_linear_time() {
    let policy = policy(json!({"deny": [{"module": "a", "agent": "*a".repeat(400)}]}));
    let agent = "a".repeat(10_000) + "!";
    // With a backtracking matcher this ends long after the test is given up.
    assert!(policy.is_visible(&tool("a", "b"), Principal::new("s").with_agent(&agent)));
}

/// A call of a tool that sends the members of `filter` as fields of their own.
fn exploded(arguments: &Value) -> Call {
    let tool = tool("api", "find").with_metadata(Tool::EXPLODED_ARGUMENTS, json!(["filter"]));
    Call { tool: Arc::new(tool), ..call("api", "find", arguments) }
}

#[test]
fn a_rule_that_takes_away_holds_for_an_argument_and_for_the_fields_that_its_members_are_sent_as() {
    for path in ["/admin", "/filter/admin"] {
        for list in ["deny", "approve"] {
            let rule = json!({"module": "api", "arguments": [{"path": path, "equals": "yes"}]});
            let policy = policy(json!({"default_policy": "grant", list: [rule]}));
            let expected = if list == "deny" { Effect::Deny } else { Effect::Approve };
            for member in ["admin", "ADMIN"] {
                let call = exploded(&json!({"filter": {member: "yes"}}));
                assert_eq!(effect_of(&policy, call, "s"), expected, "{list} {path} {member}");
            }
            for other in [json!({"filter": {"admin": "no"}}), json!({"other": {"admin": "yes"}})] {
                assert_eq!(effect_of(&policy, exploded(&other), "s"), Effect::Grant, "{list} {path} {other}");
            }
        }
    }
    let rule = json!({"module": "api", "arguments": [{"path": "/admin", "equals": "yes"}]});
    let deny = policy(json!({"default_policy": "grant", "deny": [rule]}));
    assert_eq!(effect_of(&deny, exploded(&json!({"filter": {"admin[]": "yes"}})), "s"), Effect::Deny);
    // A grant is for what is given under the name that it says.
    let grant = policy(json!({"default_policy": "deny", "grant": [rule]}));
    assert_eq!(effect_of(&grant, exploded(&json!({"filter": {"admin": "yes"}})), "s"), Effect::Deny);
    assert_eq!(effect_of(&grant, exploded(&json!({"admin": "yes"})), "s"), Effect::Grant);
}

#[test]
fn a_rule_that_names_nothing_is_refused() {
    let capabilities: Capabilities = serde_json::from_value(json!({"grant": [{}]})).unwrap();
    let error = Policy::new(&capabilities, []).unwrap_err();
    assert_eq!(
        error.to_string(),
        "grant[0] names neither `module` nor `actions` nor `risk`; `module: \"*\"` matches everything"
    );
    assert!(serde_json::from_value::<Capabilities>(json!({"grant": [{"module": null}]})).is_err());
    // A denial of an empty list would deny nothing.
    let capabilities: Capabilities =
        serde_json::from_value(json!({"deny": [{"module": "a", "actions": []}]})).unwrap();
    assert_eq!(
        Policy::new(&capabilities, []).unwrap_err().to_string(),
        "deny[0].actions: there is no action in it; leave `actions` out to speak of all"
    );
}

#[test]
fn the_order_of_grants_does_not_matter() {
    let policy = policy(json!({"grant": [{"module": "a"}, {"module": "a", "actions": ["drop"]}]}));
    assert_eq!(policy.decide(&tool("a", "drop").with_risk(Risk::High), "s").effect, Effect::Grant);
}

#[test]
fn rules_that_speak_of_no_tool_are_named() {
    let policy = policy(json!({"grant": [{"module": "a"}], "deny": [{"module": "filesytem"}]}));
    let tools = [tool("a", "b"), tool("filesystem", "read")];
    assert_eq!(policy.unused_rules(tools.iter()).collect::<Vec<_>>(), ["deny[0]"]);
}

#[test]
fn a_rule_on_a_former_name_holds_for_the_present_one_unless_it_grants() {
    let remind = tool("scheduler", "remind");
    let with = |capabilities: Value| policy(capabilities).with_former_name(remind.name.clone(), "remember");
    for (list, effect) in [("deny", Effect::Deny), ("approve", Effect::Approve), ("grant", Effect::Deny)] {
        for action in ["remember", "rememb*"] {
            let rules =
                json!({"default_policy": "deny", list: [{"module": "scheduler", "actions": [action]}]});
            let policy = with(rules);
            assert_eq!(policy.decide(&remind, "s").effect, effect, "{list} {action}");
            let unused = policy.unused_rules(std::iter::once(&remind)).count();
            assert_eq!(unused, usize::from(list == "grant"), "{list} {action}");
        }
    }
    // The same name in another module is another tool.
    let policy =
        with(json!({"default_policy": "grant", "deny": [{"module": "memory", "actions": ["remember"]}]}));
    assert_eq!(policy.decide(&remind, "s").effect, Effect::Grant);
    let blocked: Constraints = serde_json::from_value(json!({"blocked_actions": ["remember"]})).unwrap();
    let capabilities = serde_json::from_value(json!({"default_policy": "grant"})).unwrap();
    let policy = Policy::new(&capabilities, [("scheduler", &blocked)]).unwrap();
    let policy = policy.with_former_name(remind.name.clone(), "remember");
    assert_eq!(policy.decide(&remind, "s").effect, Effect::Deny);
}
