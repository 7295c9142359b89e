//! What a view of a tool may do.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use toolcrib_model::tool::view::{AddedValue, MappedParameter, Original, ValueOrigin, View};
use toolcrib_model::{QualifiedName, Tool};

use super::policy;
use super::properties::{ARGUMENTS, capabilities, rank};
use crate::{Call, Effect, Principal, Verdict};

fn original() -> Tool {
    Tool::new(QualifiedName::new("a", "x").unwrap())
}

/// A view of `a.x` with another name.
fn view(parameters: Vec<MappedParameter>) -> Tool {
    let original = Original { tool: Arc::new(original()), source: "test".into(), parameters };
    let tool = Tool::new(QualifiedName::new("view", "of_x").unwrap());
    tool.with_view(View { place: "tools.shape[0]".into(), originals: vec![original], projection: None })
}

fn call(tool: Tool, arguments: &Value) -> Call {
    let mut call = Call::new(Arc::new(tool), "test".into(), 1);
    call.arguments = arguments.as_object().unwrap().clone();
    if let Some(view) = call.tool.clone().view() {
        for original in &view.originals {
            let mut inner = Call::new(Arc::clone(&original.tool), Arc::clone(&original.source), 1);
            inner.arguments = original.arguments(&call.arguments, |_| None).unwrap();
            call.originals.push(inner);
        }
    }
    call
}

fn effect(verdict: &Verdict) -> Effect {
    match verdict {
        Verdict::Granted(_) => Effect::Grant,
        Verdict::Ask(_) => Effect::Approve,
        Verdict::Denied(_) => Effect::Deny,
    }
}

proptest! {
    /// Rules that deny or ask by the name of the original do the same for its view, which everything else grants.
    #[test]
    fn a_view_widens_no_access(mut rules in capabilities(), agent in prop::option::of(Just("helper"))) {
        // Only the view is granted, and only what restricts the original is left.
        rules["default_policy"] = json!("grant");
        rules["grant"] = json!([{"module": "a"}, {"module": "view", "actions": ["of_x"]}]);
        let policy = policy(rules);
        let principal = Principal { agent, ..Principal::new("s") };
        let renamed = MappedParameter { name: "x".into(), shown: Some("shown".into()), value: None };
        for arguments in ARGUMENTS {
            let sent: Value = serde_json::from_str(arguments).unwrap();
            let mut shown = sent.clone();
            if let Some(value) = shown.as_object_mut().unwrap().shift_remove("x") {
                shown["shown"] = value;
            }
            let of_original = effect(&policy.authorize(call(original(), &sent), principal));
            let of_view = effect(&policy.authorize(call(view(vec![renamed.clone()]), &shown), principal));
            prop_assert!(rank(of_view) >= rank(of_original), "{of_original:?} became {of_view:?} for {sent}");
            let decided = policy.decide(&view(vec![renamed.clone()]), principal).effect;
            prop_assert!(rank(decided) <= rank(of_view), "{decided:?} is stricter than {of_view:?}");
        }
    }
}

#[test]
fn a_condition_sees_the_value_that_a_view_adds() {
    let deny = json!({"module": "a", "arguments": [{"path": "/x", "equals": 1}]});
    let policy = policy(json!({"default_policy": "grant", "deny": [deny]}));
    let fixed = |value: Value| {
        let value = AddedValue { origin: ValueOrigin::Setting(value), is_fixed: true };
        view(vec![MappedParameter { name: "x".into(), shown: None, value: Some(value) }])
    };
    let verdict = |tool: Tool| effect(&policy.authorize(call(tool, &json!({})), Principal::new("s")));
    assert_eq!(verdict(fixed(json!(1))), Effect::Deny);
    assert_eq!(verdict(fixed(json!(2))), Effect::Grant);
}

#[test]
fn a_view_without_the_calls_of_its_originals_does_not_run() {
    let policy = policy(json!({"default_policy": "grant"}));
    let mut call = call(view(Vec::new()), &json!({}));
    call.originals.clear();
    let Verdict::Denied(decision) = policy.authorize(call, Principal::new("s")) else { panic!("it runs") };
    assert_eq!(&*decision.rule, "tools.shape[0]");
}
