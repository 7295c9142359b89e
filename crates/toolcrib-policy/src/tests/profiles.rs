//! What the policy promises of callers with a profile.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_model::tool::view::{Original, View};
use toolcrib_model::{QualifiedName, Risk, Tool};

use super::{call, effect_of, policy, tool};
use crate::{
    Effect, OverrideTarget, Overrides, Policy, Principal, ProfileRules, RUNTIME_NAMESPACE, Scope,
    SettingLocation,
};

/// Returns the rules of a profile.
fn profile(name: &str, scope: Value, mut restrictions: Value) -> ProfileRules {
    restrictions["default_policy"] = json!("grant");
    let location = SettingLocation::default().key("profiles").key(name);
    let scope: Scope = serde_json::from_value(scope).unwrap();
    ProfileRules::new(&scope, policy(restrictions), &location).unwrap()
}

/// Returns a policy that grants everything, with a profile for sessions that name it.
fn with_profile(name: &str, scope: Value, restrictions: Value) -> Policy {
    let policy = policy(json!({"default_policy": "grant"}));
    policy.with_profile(name, profile(name, scope, restrictions)).with_profiles_in("serve/")
}

#[test]
fn a_profile_leaves_what_one_of_its_lists_selects_and_the_tools_of_the_runtime() {
    let scope =
        json!({"tools": ["git.log", "files::read_*"], "namespaces": ["docs"], "sources": ["*/shop.yaml"]});
    let policy = with_profile("review", scope, json!({}));
    let of_source = |name: &str, source: &str| tool("shop", name).with_source(source.into());
    for (tool, is_left) in [
        (tool("git", "log"), true),
        (tool("git", "push"), false),
        (tool("files", "read_text"), true),
        (tool("files", "write"), false),
        (tool("docs", "anything"), true),
        (of_source("buy", "./shop.yaml"), true),
        (of_source("buy", "./other.yaml"), false),
        (tool("shop", "unregistered"), false),
        (tool(RUNTIME_NAMESPACE, "search_tools"), true),
    ] {
        assert_eq!(policy.is_visible(&tool, "serve/ci/review/1"), is_left, "{}", tool.name);
        assert!(policy.is_visible(&tool, "serve/ci/1"), "{}", tool.name);
    }
    let decision = policy.decide(&tool("git", "push"), "serve/ci/review/1");
    assert_eq!(decision.rule.as_ref(), "profiles.review");
}

#[test]
fn empty_lists_leave_nothing_and_absent_lists_everything() {
    for (scope, is_left) in
        [(json!({}), true), (json!({"tools": []}), false), (json!({"sources": []}), false)]
    {
        let policy = with_profile("p", scope.clone(), json!({}));
        assert_eq!(policy.is_visible(&tool("git", "log"), "serve/ci/p/1"), is_left, "{scope}");
    }
}

#[test]
fn the_rules_of_a_profile_only_tighten() {
    let restrictions = json!({
        "max_risk_level": "medium",
        "deny": [{"module": "git", "arguments": [{"path": "/force", "equals": true}]}],
        "approve": [{"module": "git", "actions": ["push"]}],
        "grant": [{"module": "shell", "actions": ["run"]}],
    });
    let policy = with_profile("p", json!({}), restrictions);
    let session = "serve/ci/p/1";
    let risky = tool("git", "log").with_risk(Risk::High);
    assert!(!policy.is_visible(&risky, session) && policy.is_visible(&risky, "serve/ci/1"));
    for (arguments, effect) in [(json!({}), Effect::Approve), (json!({"force": true}), Effect::Deny)] {
        assert_eq!(effect_of(&policy, call("git", "push", &arguments), session), effect, "{arguments}");
        assert_eq!(effect_of(&policy, call("git", "push", &arguments), "serve/ci/1"), Effect::Grant);
    }
    let rules: Vec<String> = policy
        .matches(&tool("git", "push"), session, None)
        .iter()
        .map(|one| one.decision.rule.to_string())
        .collect();
    assert_eq!(rules, ["approve[0]", "default_policy"]);
    let denying = super::policy(json!({"deny": [{"module": "shell"}]}));
    let granting = profile("p", json!({}), json!({"grant": [{"module": "shell"}]}));
    let denying = denying.with_profile("p", granting).with_profiles_in("serve/");
    assert!(!denying.is_visible(&tool("shell", "run"), session));
}

#[test]
fn the_profiles_of_a_client_and_of_its_endpoint_limit_a_session_together() {
    let policy = with_profile("git", json!({"namespaces": ["git", "docs"]}), json!({}))
        .with_profile("docs", profile("docs", json!({"namespaces": ["docs"]}), json!({})))
        .with_profile_of("serve/ci/", "docs");
    for (session, git, docs, first) in [
        ("serve/ci/1", false, true, Some("docs")),
        ("serve/ci/git/1", false, true, Some("docs")),
        ("serve/dev/git/1", true, true, Some("git")),
        ("serve/dev/git/1/more", true, true, Some("git")),
        ("serve/dev/1", true, true, None),
        ("cli", true, true, None),
    ] {
        assert_eq!(policy.is_visible(&tool("git", "log"), session), git, "{session}");
        assert_eq!(policy.is_visible(&tool("docs", "read"), session), docs, "{session}");
        assert_eq!(policy.profile_of(session), first, "{session}");
    }
    let agent = Principal::new("serve/ci/1").with_agent("helper");
    assert!(!policy.is_visible(&tool("git", "log"), agent));
}

#[test]
fn every_tool_is_denied_to_sessions_of_a_profile_that_does_not_exist() {
    let policy = with_profile("p", json!({}), json!({})).with_profile_of("serve/old/", "gone");
    for session in ["serve/ci/gone/1", "serve/old/1", "serve/old/p/1", "serve/ci//1"] {
        assert!(!policy.admits(session), "{session}");
        assert!(!policy.is_visible(&tool(RUNTIME_NAMESPACE, "search_tools"), session), "{session}");
        assert_eq!(effect_of(&policy, call("git", "log", &json!({})), session), Effect::Deny, "{session}");
    }
    assert!(policy.admits("serve/ci/p/1") && policy.admits("serve/ci/1"));
}

#[test]
fn a_profile_names_a_shaped_tool_by_its_own_name_and_restricts_its_originals() {
    let original = |namespace: &str, source: &str| Original {
        tool: Arc::new(tool(namespace, "search").with_source(source.into())),
        source: source.into(),
        parameters: Vec::new(),
    };
    let originals = vec![original("git", "a"), original("hub", "b")];
    let view = View { place: "tools.shape[0]".into(), originals, projection: None };
    let view: Tool = Tool::new(QualifiedName::new("desk", "find").unwrap()).with_view(view);
    for (scope, restrictions, is_left) in [
        (json!({"tools": ["desk.find"]}), json!({}), true),
        (json!({"tools": ["git.search"]}), json!({}), false),
        (json!({"sources": ["a", "b"]}), json!({}), true),
        (json!({"sources": ["*"]}), json!({"deny": [{"module": "git"}]}), true),
        (json!({"sources": ["*"]}), json!({"deny": [{"module": "git"}, {"module": "hub"}]}), false),
        (json!({"sources": ["*"]}), json!({"deny": [{"module": "desk"}]}), false),
    ] {
        let policy = with_profile("p", scope.clone(), restrictions.clone());
        assert_eq!(policy.is_visible(&view, "serve/ci/p/1"), is_left, "{scope} {restrictions}");
    }
    let policy = with_profile("p", json!({"sources": ["a"]}), json!({}));
    assert!(!policy.is_visible(&view, "serve/ci/p/1"), "a fallback is outside of the profile");
    for (targets, is_left) in [(&["source:a"][..], true), (&["source:a", "tool:hub.search"], false)] {
        let targets = targets.iter().map(|target| (target.parse().unwrap(), false)).collect();
        policy.set_overrides(Overrides { targets, ..Overrides::default() });
        assert_eq!(policy.is_visible(&view, "serve/ci/1"), is_left, "{:?}", policy.overrides());
    }
}

#[test]
fn patterns_and_rules_of_a_profile_that_match_no_tool_are_unused() {
    let scope = json!({"tools": ["git.log", "git.gone"], "sources": ["nowhere"]});
    let policy = with_profile("p", scope, json!({"deny": [{"module": "git"}, {"module": "absent"}]}));
    let tools = [tool("git", "log")];
    let unused: Vec<&str> = policy.unused_rules(tools.iter()).collect();
    assert_eq!(unused, ["profiles.p.tools[1]", "profiles.p.sources[0]", "deny[1]"]);
}

#[test]
fn an_operator_selects_the_profile_of_the_clients_that_have_none() {
    let policy = with_profile("p", json!({"namespaces": ["docs"]}), json!({}));
    let policy = policy.with_profile("git", profile("git", json!({"namespaces": ["git"]}), json!({})));
    let sees = |session: &str| policy.is_visible(&tool("git", "log"), session);
    for (profile, of_any, first) in [
        (Some("p"), false, Some("p")),
        (Some("git"), true, Some("git")),
        (Some("gone"), false, None),
        (None, true, None),
    ] {
        policy.set_overrides(Overrides { profile: profile.map(str::to_owned), ..Overrides::default() });
        assert_eq!(sees("serve/ci/1"), of_any, "{profile:?}");
        assert_eq!(policy.profile_of("serve/ci/1"), first, "{profile:?}");
        assert_eq!(policy.admits("serve/ci/1"), profile != Some("gone"), "{profile:?}");
        assert!(!sees("serve/ci/p/1") && sees("serve/ci/git/1") && sees("cli"), "{profile:?}");
    }
}

#[test]
fn a_disabled_tool_does_not_exist_until_it_is_enabled() {
    let policy = policy(json!({"default_policy": "grant", "deny": [{"module": "shell"}]}));
    let of_source = |namespace: &str, name: &str| tool(namespace, name).with_source("shop.yaml".into());
    let target = |text: &str| text.parse::<OverrideTarget>().unwrap();
    for (targets, is_there) in [
        (json!({}), [true, true, true]),
        (json!({"source:shop.yaml": false}), [false, false, true]),
        (json!({"source:shop.yaml": false, "tool:shop.buy": true}), [true, false, true]),
        (json!({"namespace:git": false}), [true, true, false]),
        (json!({"tool:shop.buy": false}), [false, true, true]),
        (json!({"tool:shell.run": true}), [true, true, true]),
    ] {
        let entries = targets.as_object().unwrap().iter();
        let entries = entries.map(|(id, is_enabled)| (target(id), is_enabled.as_bool().unwrap()));
        policy.set_overrides(Overrides { targets: entries.collect(), ..Overrides::default() });
        let tools = [of_source("shop", "buy"), of_source("shop", "sell"), tool("git", "log")];
        for session in ["cli", "serve/ci/1"] {
            let found = tools.each_ref().map(|tool| policy.is_visible(tool, session));
            assert_eq!(found, is_there, "{targets}");
            assert_eq!(tools.each_ref().map(|tool| policy.exists_for(tool, session)), is_there, "{targets}");
        }
        assert!(!policy.is_visible(&tool("shell", "run"), "cli"), "to enable grants nothing: {targets}");
    }
    policy.set_overrides(Overrides {
        targets: [(target("source:shop.yaml"), false)].into(),
        ..Overrides::default()
    });
    let decision = policy.decide(&of_source("shop", "buy"), "cli");
    assert_eq!(decision.rule.as_ref(), "override: source `shop.yaml` is disabled");
    assert!("shop.buy".parse::<OverrideTarget>().is_err());
}
