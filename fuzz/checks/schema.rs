//! Any JSON as a schema, and any JSON as the arguments of a call: one line each.

use serde_json::Value;
use toolcrib_schema::{CompiledSchema, Profile, Sent};

const PROFILES: [Profile; 4] = [Profile::OpenAi, Profile::OpenAiStrict, Profile::Gemini, Profile::Portable];

/// Checks what holds for one input.
pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (schema, arguments) = text.split_once('\n').unwrap_or((text, "{}"));
    let Ok(schema) = serde_json::from_str::<Value>(schema) else { return };
    for profile in PROFILES {
        let sent = Sent::new(&schema, profile);
        assert_eq!(sent.schema["type"], "object");
        assert_eq!(sent, Sent::new(&schema, profile));
    }
    let Ok(compiled) = CompiledSchema::compile(&schema) else { return };
    if let Some(example) = compiled.minimal_example() {
        assert!(compiled.accepts(&example));
    }
    let Ok(value) = serde_json::from_str::<Value>(arguments) else { return };
    let is_valid = compiled.validate(&value).is_ok();
    let Value::Object(arguments) = value else { return };
    match compiled.repair(arguments) {
        Ok(repaired) => {
            assert!(compiled.validate(&repaired.arguments.clone().into()).is_ok());
            let again = compiled.repair(repaired.arguments.clone()).expect("what is valid stays valid");
            assert_eq!(again.arguments, repaired.arguments);
            assert!(again.repairs.is_empty());
        }
        Err(violations) => {
            assert!(!is_valid);
            assert!(violations.iter().next().is_some());
        }
    }
}
