//! Agreement with the original system.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_model::{QualifiedName, Tool};

use super::all;
use crate::ToolRegistry;

#[test]
fn overloads_are_resolved_as_the_original_system_does() {
    let Some(shared) = std::env::var_os("TOOLCRIB_SHARED") else { return };
    let text = std::fs::read(Path::new(&shared).join("data/compat/overload_resolution.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_slice(&text).unwrap();
    assert_eq!(cases.len(), 39);
    for (number, case) in cases.iter().enumerate() {
        let name = QualifiedName::new("a", "b").unwrap();
        let tools = case["overloads"].as_array().unwrap().iter();
        let tools = tools.map(|schema| Tool::new(name.clone()).with_parameters(schema.clone()));
        let snapshot = ToolRegistry::from_tools("s", tools).unwrap().snapshot();
        let overloads = snapshot.find("a::b", all).unwrap();
        let chosen = overloads.choose(case["arguments"].as_object().unwrap()).unwrap();
        let index = overloads.iter().position(|entry| Arc::ptr_eq(entry, chosen));
        assert_eq!(json!(index), case["chosen_index"], "case {number}: {case}");
        // What a call runs is that tool too, where it takes the arguments as they are.
        let arguments = case["arguments"].as_object().unwrap();
        if chosen.schema.validate(&case["arguments"]).is_ok() {
            let (entry, _) = overloads.repair(arguments.clone()).unwrap();
            assert!(Arc::ptr_eq(entry, chosen), "case {number}: {case}");
        }
    }
}
