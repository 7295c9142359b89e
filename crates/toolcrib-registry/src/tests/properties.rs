//! What holds for any tools.

use proptest::prelude::*;
use serde_json::{Value, json};
use toolcrib_model::{JsonObject, QualifiedName, Tool, ToolCall};

use super::all;
use crate::ToolRegistry;

/// Tools of few names, so that namesakes and overloads are frequent; no two have name and schema in common.
fn tools() -> impl Strategy<Value = Vec<Tool>> {
    let name = prop_oneof!["read|a_b|a\\.b|Read", "[a-z_.]{1,6}"];
    let namespace = prop_oneof!["x|x\\.y|x__y", "[a-z]{1,3}"];
    let tool = (namespace, name, 0..3_u8).prop_filter_map("a name", |(namespace, name, schema)| {
        let parameters = json!({"type": "object", "properties": {format!("p{schema}"): {"type": "string"}}});
        Some(Tool::new(QualifiedName::new(namespace, name).ok()?).with_parameters(parameters))
    });
    prop::collection::vec(tool, 0..24).prop_map(|mut tools: Vec<Tool>| {
        tools.sort_by_key(|tool| (tool.name.clone(), tool.fingerprint()));
        tools.dedup_by_key(|tool| (tool.name.clone(), tool.fingerprint()));
        tools
    })
}

/// Everything that a snapshot says, apart from the order in which overloads were registered.
fn told(tools: Vec<Tool>) -> Value {
    let snapshot = ToolRegistry::from_tools("s", tools).unwrap().snapshot();
    let names: Vec<_> = snapshot
        .tool_names()
        .map(|name| {
            let mut fingerprints: Vec<_> =
                snapshot.get(name).unwrap().iter().map(|entry| entry.fingerprint).collect();
            fingerprints.sort();
            let namesakes: Vec<_> = snapshot.get_by_name(name.name()).collect();
            json!({"name": name, "overloads": fingerprints, "namesakes": namesakes})
        })
        .collect();
    json!({"names": names, "namespaces": snapshot.namespaces().collect::<Vec<_>>()})
}

proptest! {
    #[test]
    fn any_order_of_the_same_tools_gives_the_same_snapshot((tools, shuffled) in
        tools().prop_flat_map(|tools| (Just(tools.clone()), Just(tools).prop_shuffle())))
    {
        prop_assert_eq!(told(tools), told(shuffled));
    }

    #[test]
    fn the_qualified_spelling_always_finds_its_tool_and_no_spelling_finds_another(tools in tools()) {
        let snapshot = ToolRegistry::from_tools("s", tools).unwrap().snapshot();
        for name in snapshot.tool_names() {
            let found = snapshot.resolve(&ToolCall::new(name.to_string(), JsonObject::new()), all).unwrap();
            prop_assert_eq!(&found.tool.name, name);
            let wire = format!("{}__{}", name.namespace(), name.name());
            for spelling in [name.dotted(), wire, name.name().to_owned()] {
                if let Ok(found) = snapshot.find(&spelling, all) {
                    let found = &found.first().unwrap().tool.name;
                    // A spelling that finds one tool is one of that tool's own.
                    let own = [found.dotted(), format!("{}__{}", found.namespace(), found.name()), found.name().to_owned()];
                    prop_assert!(own.contains(&spelling), "{} found {}", spelling, found);
                }
            }
        }
    }
}
