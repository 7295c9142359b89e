//! What the policy promises of callers that have a scope.

use serde_json::json;
use toolcrib_model::Risk;

use super::{call, effect_of, policy, tool};
use crate::{Effect, Principal, RUNTIME_NAMESPACE, Scope, SettingLocation};

/// Returns the location of a token in an app file.
fn token(position: usize) -> SettingLocation {
    SettingLocation::default().key("serve").key("tokens").at(position)
}

#[test]
fn a_scope_leaves_its_callers_some_namespaces_whatever_is_granted_and_others_all() {
    let policy = policy(json!({"grant": [{"module": "*"}]}));
    let scope: Scope = serde_json::from_value(json!({"namespaces": ["docs", "git*"]})).unwrap();
    let policy = policy.with_scope("serve/ci/", &scope, &token(1)).unwrap();
    for (namespace, session, effect) in [
        ("docs", "serve/ci/1", Effect::Grant),
        ("github", "serve/ci/1", Effect::Grant),
        ("shell", "serve/ci/1", Effect::Deny),
        ("shell", "serve/ci2/1", Effect::Grant),
        ("shell", "cli", Effect::Grant),
        (RUNTIME_NAMESPACE, "serve/ci/1", Effect::Grant),
    ] {
        assert_eq!(policy.decide(&tool(namespace, "x"), session).effect, effect, "{namespace} {session}");
    }
    assert_eq!(policy.decide(&tool("shell", "x"), "serve/ci/1").rule.as_ref(), "serve.tokens[1]");
}

#[test]
fn a_scope_leaves_its_callers_tools_up_to_a_risk() {
    let policy = policy(json!({"default_policy": "grant"}));
    let scope: Scope = serde_json::from_value(json!({"max_risk_level": "low"})).unwrap();
    let policy = policy.with_scope("serve/ci/", &scope, &token(0)).unwrap();
    let risky = tool("notes", "write").with_risk(Risk::Medium);
    assert!(!policy.is_visible(&risky, "serve/ci/1"));
    assert!(policy.is_visible(&risky, "serve/other/1"));
    assert!(policy.is_visible(&risky.with_risk(Risk::Low), "serve/ci/1"));
}

#[test]
fn a_scope_that_is_no_pattern_is_an_error_at_its_place() {
    let scope: Scope = serde_json::from_value(json!({"namespaces": ["docs["]})).unwrap();
    let error = policy(json!({})).with_scope("serve/ci/", &scope, &token(2)).unwrap_err();
    assert_eq!(error.place().pointer(), "/serve/tokens/2/namespaces/0");
}

#[test]
fn every_tool_is_denied_to_sessions_of_a_client_that_is_not_known() {
    let policy = policy(json!({"default_policy": "grant", "grant": [{"module": "*"}]}));
    let policy = policy
        .with_unknown_denied("serve/", "serve.tokens")
        .with_known_sessions("serve/local/")
        .with_scope("serve/ci/", &Scope::default(), &token(0))
        .unwrap();
    for (session, is_known) in [
        ("serve/ci/1", true),
        ("serve/local/1", true),
        ("cli", true),
        ("serve/old/1", false),
        ("serve/", false),
    ] {
        assert_eq!(policy.admits(session), is_known, "{session}");
        for namespace in ["docs", RUNTIME_NAMESPACE] {
            assert_eq!(policy.is_visible(&tool(namespace, "x"), session), is_known, "{namespace} {session}");
        }
    }
    let agent = Principal::new("serve/old/1").with_agent("helper");
    assert_eq!(policy.decide(&tool("docs", "x"), agent).rule.as_ref(), "serve.tokens");
    assert_eq!(effect_of(&policy, call("docs", "x", &json!({})), agent), Effect::Deny);
}
