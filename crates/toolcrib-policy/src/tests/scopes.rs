//! Rules about agents, sessions and arguments.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_model::Risk;

use super::{call, effect_of, policy, tool};
use crate::{Capabilities, Effect, Policy, Principal, RUNTIME_NAMESPACE};

#[test]
fn a_rule_with_an_agent_or_a_session_speaks_of_those_only() {
    let policy = policy(json!({"default_policy": "deny", "grant": [
        {"module": "a", "agent": "research-*"},
        {"module": "b", "session": "s1"},
        {"module": "c", "agent": "*"},
    ]}));
    let person = Principal::new("s1");
    for (module, principal, visible) in [
        ("a", person.with_agent("research-2"), true),
        ("a", person.with_agent("writer"), false),
        ("a", person, false),
        ("b", person, true),
        ("b", Principal::new("s2"), false),
        ("c", person.with_agent(""), true),
        ("c", person, false),
    ] {
        assert_eq!(policy.is_visible(&tool(module, "x"), principal), visible, "{module} for {principal:?}");
    }
}

#[test]
fn what_is_decided_for_one_caller_is_not_told_to_another() {
    let policy = policy(json!({"default_policy": "grant", "deny": [{"module": "a", "agent": "guest"}]}));
    let guest = Principal::new("s").with_agent("guest");
    for _ in 0..2 {
        assert!(!policy.is_visible(&tool("a", "x"), guest));
        assert!(policy.is_visible(&tool("a", "x"), "s"));
    }
}

#[test]
fn an_agent_may_do_no_more_than_those_on_whose_behalf_it_works() {
    let policy = policy(json!({
        "default_policy": "deny",
        "grant": [
            {"module": "a"},
            {"module": "b", "agent": "helper"},
            {"module": "c", "agent": "helper"},
            {"module": "c", "agent": "lead"},
            {"module": "c", "agent": "chief"},
        ],
        "approve": [{"module": "a", "agent": "lead"}],
    }));
    let (lead, chief): (Arc<str>, Arc<str>) = ("lead".into(), "chief".into());
    let helper = Principal::new("s").with_agent("helper");
    for (module, superiors, effect) in [
        ("a", vec![], Effect::Grant),
        ("a", vec![chief.clone()], Effect::Grant),
        ("a", vec![chief.clone(), lead.clone()], Effect::Approve),
        ("b", vec![], Effect::Grant),
        ("b", vec![lead.clone()], Effect::Deny),
        ("c", vec![lead.clone(), chief.clone()], Effect::Grant),
        ("c", vec![lead.clone(), "guest".into()], Effect::Deny),
    ] {
        let principal = helper.on_behalf_of(&superiors);
        assert_eq!(policy.decide(&tool(module, "x"), principal).effect, effect, "{module} {superiors:?}");
        let became = effect_of(&policy, call(module, "x", &json!({})), principal);
        assert_eq!(became, effect, "{module} {superiors:?}");
    }
}

#[test]
fn a_reserved_tool_is_there_for_those_agents_alone_and_for_them_by_the_rules() {
    let capabilities = json!({"default_policy": "grant", "deny": [{"module": "a", "agent": "vice"}]});
    let capabilities: Capabilities = serde_json::from_value(capabilities).unwrap();
    let name = tool("a", "x").name;
    let agents = ["lead".to_owned(), "vice".to_owned()];
    let policy = Policy::new(&capabilities, []).unwrap().with_reserved(name, agents, "agents[].role");
    let session = Principal::new("s");
    assert!(policy.is_visible(&tool("a", "x"), session.with_agent("lead")));
    assert!(policy.is_visible(&tool("a", "y"), session.with_agent("helper")));
    for principal in [session, session.with_agent("helper"), session.with_agent("vice")] {
        assert!(!policy.is_visible(&tool("a", "x"), principal), "{principal:?}");
    }
    let superiors = ["lead".into()];
    let below = session.with_agent("helper").on_behalf_of(&superiors);
    assert_eq!(policy.decide(&tool("a", "x"), below).rule.as_ref(), "agents[].role");
}

#[test]
fn a_tool_that_is_granted_by_its_name_runs_whatever_its_risk_unless_a_rule_denies_it() {
    let policy = policy(json!({"default_policy": "deny", "deny": [{"module": "a", "actions": ["y"]}]}));
    let risky = tool("a", "x").with_risk(Risk::High);
    let policy = policy.with_granted(&risky.name, "setup").with_granted(&tool("a", "y").name, "setup");
    let decision = policy.decide(&risky, "s");
    assert_eq!((decision.effect, decision.rule.as_ref()), (Effect::Grant, "setup"));
    assert_eq!(policy.decide(&tool("a", "y"), "s").rule.as_ref(), "deny[0]");
    assert_eq!(policy.decide(&tool("a", "z"), "s").effect, Effect::Deny);
}

#[test]
fn a_tool_that_changes_its_risk_is_judged_anew() {
    let policy = policy(json!({"default_policy": "grant", "max_risk_level": "medium"}));
    for _ in 0..2 {
        assert!(policy.is_visible(&tool("a", "x"), "s"));
        assert!(!policy.is_visible(&tool("a", "x").with_risk(Risk::High), "s"));
    }
}

/// Capabilities, what is said of the tool, and what becomes of calls with these arguments.
#[expect(clippy::too_many_lines, reason = "a table")]
#[test]
fn conditions_decide_once_the_arguments_are_known_and_only_then() {
    let on = |value: Value| json!([{"path": "/x", "equals": value}]);
    let cases = [
        (
            "a conditional grant over a denying default",
            json!({"default_policy": "deny", "grant": [{"module": "a", "arguments": on(json!(1))}]}),
            (Effect::Grant, true),
            [(json!({"x": 1}), Effect::Grant), (json!({"x": 2}), Effect::Deny), (json!({}), Effect::Deny)],
        ),
        (
            "a conditional deny over a grant",
            json!({"grant": [{"module": "a"}], "deny": [{"module": "a", "arguments": on(json!(1))}]}),
            (Effect::Grant, true),
            [(json!({"x": 1}), Effect::Deny), (json!({"x": [1]}), Effect::Deny), (json!({}), Effect::Grant)],
        ),
        (
            "a conditional question over a grant",
            json!({"grant": [{"module": "a"}], "approve": [{"module": "a", "arguments": on(json!(1))}]}),
            (Effect::Grant, true),
            [
                (json!({"x": 1}), Effect::Approve),
                (json!({"x": 2}), Effect::Grant),
                (json!({}), Effect::Grant),
            ],
        ),
        (
            "a conditional question over a denying default",
            json!({"default_policy": "deny", "approve": [{"module": "a", "arguments": on(json!(1))}]}),
            (Effect::Approve, true),
            [(json!({"x": 1}), Effect::Approve), (json!({"x": 2}), Effect::Deny), (json!({}), Effect::Deny)],
        ),
        (
            "a conditional question over a question",
            json!({"approve": [{"module": "a", "arguments": on(json!(1))}]}),
            (Effect::Approve, false),
            [
                (json!({"x": 1}), Effect::Approve),
                (json!({"x": 2}), Effect::Approve),
                (json!({}), Effect::Approve),
            ],
        ),
        (
            "a plain deny over everything",
            json!({"deny": [{"module": "a"}], "grant": [{"module": "a", "arguments": on(json!(1))}]}),
            (Effect::Deny, false),
            [(json!({"x": 1}), Effect::Deny), (json!({"x": 2}), Effect::Deny), (json!({}), Effect::Deny)],
        ),
        (
            "a conditional deny over a denying default",
            json!({"default_policy": "deny", "deny": [{"module": "a", "arguments": on(json!(1))}]}),
            (Effect::Deny, false),
            [(json!({"x": 1}), Effect::Deny), (json!({"x": 2}), Effect::Deny), (json!({}), Effect::Deny)],
        ),
        (
            "a plain question over a conditional grant",
            json!({"approve": [{"module": "a"}], "grant": [{"module": "a", "arguments": on(json!(1))}]}),
            (Effect::Approve, false),
            [
                (json!({"x": 1}), Effect::Approve),
                (json!({"x": 2}), Effect::Approve),
                (json!({}), Effect::Approve),
            ],
        ),
        (
            "all conditions of a rule hold, or none of it does",
            json!({"default_policy": "deny", "grant": [{"module": "a", "arguments": [
                {"path": "/x", "equals": 1}, {"path": "/y", "equals": 2},
            ]}]}),
            (Effect::Grant, true),
            [
                (json!({"x": 1, "y": 2}), Effect::Grant),
                (json!({"x": 1}), Effect::Deny),
                (json!({}), Effect::Deny),
            ],
        ),
    ];
    for (what, capabilities, of_tool, of_calls) in cases {
        let policy = policy(capabilities);
        let decision = policy.decide(&tool("a", "b"), "s");
        assert_eq!((decision.effect, decision.depends_on_arguments), of_tool, "{what}");
        for (arguments, effect) in of_calls {
            assert_eq!(effect_of(&policy, call("a", "b", &arguments), "s"), effect, "{what}: {arguments}");
        }
    }
}

#[test]
fn a_conditional_grant_by_name_spares_a_dangerous_tool_the_question_for_those_arguments_only() {
    let policy = policy(json!({"grant": [
        {"module": "a"},
        {"module": "a", "actions": ["b"], "arguments": [{"path": "/x", "equals": 1}]},
    ]}));
    let dangerous = || tool("a", "b").with_risk(Risk::High);
    let decision = policy.decide(&dangerous(), "s");
    assert_eq!((decision.effect, decision.depends_on_arguments), (Effect::Grant, true));
    for (arguments, effect) in [(json!({"x": 1}), Effect::Grant), (json!({"x": 2}), Effect::Approve)] {
        let mut call = call("a", "b", &arguments);
        call.tool = dangerous().into();
        assert_eq!(effect_of(&policy, call, "s"), effect, "{arguments}");
    }
}

#[test]
fn a_tool_that_has_to_be_granted_is_there_only_where_a_rule_speaks_of_it() {
    let ask_user = tool(RUNTIME_NAMESPACE, "ask_user").with_metadata("exposed_when_granted", true);
    assert!(!policy(json!({"default_policy": "grant"})).is_visible(&ask_user, "s"));
    let granted = policy(json!({"grant": [{"module": RUNTIME_NAMESPACE, "actions": ["ask_user"]}]}));
    assert_eq!(granted.decide(&ask_user, "s").effect, Effect::Grant);
    assert!(!granted.is_visible(&tool("a", "b").with_metadata("exposed_when_granted", true), "s"));
}

#[test]
fn a_mistake_in_a_rule_is_told_at_its_place() {
    let cases = [
        (json!({"deny": [{"module": "a["}]}), "/deny/0/module"),
        (json!({"grant": [{"module": "a", "actions": ["b", "{c"]}]}), "/grant/0/actions/1"),
        (json!({"grant": [{"module": "a"}, {}]}), "/grant/1"),
        (json!({"grant": [{"agent": "a"}]}), "/grant/0"),
        (json!({"grant": [{"arguments": [{"path": "/x", "equals": 1}]}]}), "/grant/0"),
        (json!({"grant": [{"module": "a", "arguments": []}]}), "/grant/0/arguments"),
        (
            json!({"deny": [{"module": "a", "arguments": [{"path": "/x", "matches": "("}]}]}),
            "/deny/0/arguments/0/matches",
        ),
        (
            json!({"deny": [{"module": "a", "arguments": [{"path": "x", "equals": 1}]}]}),
            "/deny/0/arguments/0/path",
        ),
        (json!({"deny": [{"module": "a", "session": "s["}]}), "/deny/0/session"),
        (json!({"access": {"network": ["a b"]}}), "/access/network/0"),
    ];
    for (capabilities, pointer) in cases {
        let capabilities: Capabilities = serde_json::from_value(capabilities).unwrap();
        let error = Policy::new(&capabilities, []).unwrap_err();
        assert_eq!(error.place().pointer(), pointer, "{error}");
    }
    let many =
        json!({"deny": vec![json!({"module": "a", "arguments": [{"path": "/x", "matches": "a"}]}); 300]});
    let error = Policy::new(&serde_json::from_value(many).unwrap(), []).unwrap_err();
    assert_eq!(error.to_string(), "rules: 300 regular expressions, more than 256");
}

#[test]
fn rules_about_arguments_and_callers_are_unused_only_where_their_tool_is_missing() {
    let policy = policy(json!({"deny": [
        {"module": "a", "arguments": [{"path": "/x", "equals": 1}], "agent": "nobody"},
        {"module": "z", "arguments": [{"path": "/x", "equals": 1}]},
    ]}));
    let tools = [tool("a", "b")];
    assert_eq!(policy.unused_rules(tools.iter()).collect::<Vec<_>>(), ["deny[1]"]);
}
