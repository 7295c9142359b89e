//! What holds for every policy.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use toolcrib_model::Risk;

use super::{call, effect_of, policy, tool};
use crate::{Effect, Principal, Verdict};

/// Everything that the conditions below can tell apart.
pub(super) const ARGUMENTS: &[&str] =
    &[r"{}", r#"{"x":1}"#, r#"{"x":2}"#, r#"{"x":3}"#, r#"{"x":[1,2]}"#, r#"{"y":1}"#];

fn rule() -> impl Strategy<Value = Value> {
    let module = prop_oneof![Just("a"), Just("*"), Just("b"), Just("[ab]")];
    let actions = prop_oneof![Just(None), Just(Some("x")), Just(Some("*"))];
    let agent = prop_oneof![3 => Just(None), 1 => Just(Some("helper"))];
    let conditions = prop_oneof![
        2 => Just(None),
        1 => Just(Some(json!([{"path": "/x", "equals": 1}]))),
        1 => Just(Some(json!([{"path": "/x", "in": [1, 2]}]))),
        1 => Just(Some(json!([{"path": "/y", "matches": "1"}]))),
    ];
    (module, actions, agent, conditions).prop_map(|(module, actions, agent, conditions)| {
        let mut rule = json!({"module": module});
        let parts = [
            ("actions", actions.map(|action| json!([action]))),
            ("agent", agent.map(Value::from)),
            ("arguments", conditions),
        ];
        for (key, value) in parts {
            if let Some(value) = value {
                rule[key] = value;
            }
        }
        rule
    })
}

pub(super) fn capabilities() -> impl Strategy<Value = Value> {
    let rules = || prop::collection::vec(rule(), 0..4);
    let default = prop_oneof![Just("grant"), Just("approve"), Just("deny")];
    let max_risk = prop_oneof![3 => Just(None), 1 => Just(Some("medium"))];
    (default, max_risk, rules(), rules(), rules()).prop_map(|(default, max_risk, grant, approve, deny)| {
        let mut capabilities =
            json!({"default_policy": default, "grant": grant, "approve": approve, "deny": deny});
        if let Some(max_risk) = max_risk {
            capabilities["max_risk_level"] = max_risk.into();
        }
        capabilities
    })
}

pub(super) fn rank(effect: Effect) -> u8 {
    match effect {
        Effect::Grant => 0,
        Effect::Approve => 1,
        Effect::Deny => 2,
    }
}

proptest! {
    #[test]
    fn a_call_never_gets_more_than_its_tool_was_said_to_get(
        capabilities in capabilities(),
        risk in prop_oneof![Just(Risk::Low), Just(Risk::High)],
        agent in prop_oneof![Just(None), Just(Some("helper"))],
        superior in prop_oneof![Just(None), Just(Some("helper")), Just(Some("lead"))],
    ) {
        let policy = policy(capabilities);
        let superiors: Vec<Arc<str>> = superior.map(Arc::from).into_iter().collect();
        let principal = Principal { agent, ..Principal::new("s") }.on_behalf_of(&superiors);
        let tool = tool("a", "x").with_risk(risk);
        let said = policy.decide(&tool, principal);
        let became: Vec<Effect> = ARGUMENTS
            .iter()
            .map(|arguments| {
                let mut call = call("a", "x", &serde_json::from_str(arguments).unwrap());
                call.tool = tool.clone().into();
                effect_of(&policy, call, principal)
            })
            .collect();
        for effect in &became {
            prop_assert!(rank(*effect) >= rank(said.effect), "{became:?} is better than {said:?}");
            prop_assert!(said.depends_on_arguments || *effect == said.effect, "{became:?} is not {said:?}");
        }
    }

    // A tool of high risk is granted by name, which any of the rules that match may have.
    #[test]
    fn the_first_certain_match_decides_about_a_tool_that_needs_no_confirmation(
        capabilities in capabilities(),
        agent in prop_oneof![Just(None), Just(Some("helper"))],
        arguments in 0..ARGUMENTS.len(),
    ) {
        let policy = policy(capabilities);
        let principal = Principal { agent, ..Principal::new("s") };
        let mut call = call("a", "x", &serde_json::from_str(ARGUMENTS[arguments]).unwrap());
        call.tool = tool("a", "x").with_risk(Risk::Low).into();
        let matches = policy.matches(&call.tool, principal, Some(&call.arguments));
        let first = matches.into_iter().find(|one| one.is_certain).unwrap().decision;
        let decision = match policy.authorize(call, principal) {
            Verdict::Granted(call) => call.decision().clone(),
            Verdict::Ask(pending) => pending.decision().clone(),
            Verdict::Denied(decision) => decision,
        };
        prop_assert_eq!((first.effect, first.rule), (decision.effect, decision.rule));
    }

    #[test]
    fn a_deny_more_never_lets_more_through(capabilities in capabilities(), deny in rule(), arguments in 0..ARGUMENTS.len()) {
        let arguments: Value = serde_json::from_str(ARGUMENTS[arguments]).unwrap();
        let before = effect_of(&policy(capabilities.clone()), call("a", "x", &arguments), "s");
        let mut stricter = capabilities;
        stricter["deny"].as_array_mut().unwrap().push(deny);
        let after = effect_of(&policy(stricter), call("a", "x", &arguments), "s");
        prop_assert!(rank(after) >= rank(before));
    }
}
