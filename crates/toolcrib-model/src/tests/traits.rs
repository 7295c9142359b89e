//! Reading of declared behaviour.

use std::time::Duration;

use serde_json::{Value, json};

use crate::ToolTraits;
use crate::tool::Cacheable;

fn traits(metadata: &Value) -> ToolTraits {
    ToolTraits::of(metadata.as_object().unwrap())
}

#[test]
fn a_tool_is_read_only_if_its_risk_is_declared_as_low_and_it_has_no_side_effects() {
    for (metadata, is_read_only, may_repeat) in [
        (json!({}), false, false),
        (json!({"risk": "low"}), true, true),
        (json!({"risk": "Low", "side_effects": []}), true, true),
        (json!({"risk": "low", "side_effects": ["sends a mail"]}), false, false),
        (json!({"risk": "low", "side_effects": ["sends a mail"], "idempotent": true}), false, true),
        (json!({"risk": "medium", "idempotent": true}), false, true),
        (json!({"risk": 0}), false, false),
    ] {
        let traits = traits(&metadata);
        assert_eq!((traits.is_read_only(), traits.may_repeat()), (is_read_only, may_repeat), "{metadata}");
    }
}

#[test]
fn a_value_of_another_form_counts_as_absent() {
    let odd = json!({
        "risk": 3, "side_effects": "mail", "idempotent": "yes", "exposed_when_granted": 1, "cacheable": "yes",
        "timeout_seconds": -1, "max_concurrency": 0, "max_result_tokens": "many", "deprecated": "yes",
        "annotations": true, "for_models": "no", "user_selectable": "no", "operational": 1, "presence": 1,
        "discovery": "yes", "discovery_step": "jump", "forwards": true, "target": {"within": "action"},
        "runs_others": 1, "clamps": 1, "awaits_user": 1, "confirmation_required": null, "of_the_source": 1,
    });
    assert_eq!(traits(&odd), ToolTraits::default());
    assert!(traits(&json!({"confirmation_required": "yes"})).confirmation_required);
}

#[test]
fn a_cache_permission_is_complete_or_absent() {
    let cacheable = |declared: Value| traits(&json!({"cacheable": declared})).cacheable;
    let minute = Some(Duration::from_mins(1));
    for (declared, expected) in [
        (json!(true), Some(Cacheable::default())),
        (json!({"ttl_seconds": 60}), Some(Cacheable { ttl: minute, is_shared: false })),
        (json!({"ttl_seconds": 60, "scope": "shared"}), Some(Cacheable { ttl: minute, is_shared: true })),
        (json!({"ttl_seconds": -1}), None),
        (json!({"ttl_seconds": "60"}), None),
        (json!({"scope": "everybody"}), None),
        (json!(false), None),
    ] {
        assert_eq!(cacheable(declared.clone()), expected, "{declared}");
    }
}
