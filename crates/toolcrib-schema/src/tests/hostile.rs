//! Schemas and values that are made to hang or to crash a validator. Each runs on a quarter of the usual stack.

use serde_json::{Value, json};

use super::attacks::ATTACKS;
use super::on_a_small_stack;
use crate::value_size::MAX_VALUE_DEPTH;
use crate::{CompiledSchema, Profile, Sent};

/// What the counts of the attacks are divided by. Time is for the bench; stack is used at any count.
const FEW: usize = 20;

/// Everything that is done with a schema and the arguments of a call.
fn run(schema: &Value, value: &Value) {
    for profile in [Profile::OpenAiStrict, Profile::Portable] {
        let _ = Sent::new(schema, profile);
    }
    let Ok(compiled) = CompiledSchema::compile(schema) else { return };
    let is_valid = compiled.validate(value).is_ok();
    let _ = compiled.minimal_example();
    match compiled.repair(value.as_object().cloned().unwrap_or_default()) {
        Ok(repaired) => assert!(compiled.validate(&repaired.arguments.into()).is_ok()),
        Err(_) => assert!(!is_valid),
    }
}

#[test]
fn no_schema_and_no_value_crashes() {
    for (_, schema, value) in ATTACKS {
        on_a_small_stack(|| {
            let (schema, value) = (schema(FEW), value(FEW));
            run(&schema, &value);
            // Dropping what is 10,000 levels deep recurses too, which is the matter of whoever built it.
            std::mem::forget((schema, value));
        });
    }
}

#[test]
fn a_value_deeper_than_the_bound_is_refused() {
    let schema = CompiledSchema::compile(&json!({})).unwrap();
    let depth = usize::try_from(MAX_VALUE_DEPTH).unwrap();
    let value = |depth: usize| (1..depth).fold(json!({}), |inside, _| json!({"a": inside}));
    for (levels, is_taken) in [(depth, true), (depth + 1, false), (200, false)] {
        assert_eq!(schema.accepts(&value(levels)), is_taken);
        let object = value(levels).as_object().cloned().unwrap();
        assert_eq!(schema.repair(object).is_ok(), is_taken);
    }
}
