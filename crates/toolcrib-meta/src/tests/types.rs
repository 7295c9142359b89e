//! Declarations of tools in TypeScript, for scripts.

use serde_json::{Value, json};
use toolcrib_model::Tool;
use toolcrib_policy::Principal;
use toolcrib_port::ToolLoader as _;

use super::fixture_with_scripts;
use super::signatures::{discovery, tool};
use crate::MAX_SHOWN_BYTES;
use crate::search::for_model::ModelSearch;

/// The schemas of the arguments of the meta-tools.
async fn parameters(has_scripts: bool) -> Vec<(String, Value)> {
    let (_registry, discovery) = discovery(json!({}), Vec::new());
    let module = crate::module(std::sync::Arc::new(discovery.with_scripts(has_scripts)));
    let tools = module.load().await.tools;
    tools
        .into_iter()
        .map(|tool| (tool.name.name().to_owned(), tool.parameters["properties"].clone()))
        .collect()
}

#[tokio::test]
async fn the_argument_is_declared_only_where_models_can_run_scripts() {
    let (without, with) = (parameters(false).await, parameters(true).await);
    assert!(without.iter().all(|(_, properties)| properties.get("as").is_none()), "{without:?}");
    let has: Vec<&str> = with
        .iter()
        .filter(|(_, properties)| properties.get("as").is_some())
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(has, ["search_tools", "get_tool"]);
    insta::assert_snapshot!(with[0].1["as"], @r#"{"type":"string","enum":["types"],"description":"`types`: as TypeScript, for a script."}"#);
}

#[tokio::test]
async fn a_search_and_a_look_show_declarations_on_request() {
    let fixture = fixture_with_scripts().await;
    let search = async |arguments: Value| fixture.call("search_tools", arguments).await.result;
    let found = search(json!({"query": "find a file", "as": "types"})).await;
    insta::assert_snapshot!(found["types"].as_str().unwrap());
    assert_eq!((&found["outcome"], found.get("results")), (&json!("ok"), None));
    let found =
        search(json!({"queries": ["read a text file", "read file"], "max_results": 1, "as": "types"})).await;
    assert_eq!(found["searches"][1]["results"], json!(["files.read (see above)"]), "{found}");
    assert_eq!(found["searches"][1]["types"], "", "{found}");
    let signatures = search(json!({"query": "find a file"})).await;
    assert!(signatures["results"][0].as_str().unwrap().starts_with("files.find("), "{signatures}");
    let card = fixture.call("get_tool", json!({"name": "files.find", "as": "types"})).await.result;
    insta::assert_json_snapshot!(card);
    // A part is shown as JSON Schema.
    let part =
        fixture.call("get_tool", json!({"name": "files.find", "path": "path", "as": "types"})).await.result;
    assert_eq!(part["parameters"], json!({"type": "string"}), "{part}");
    // What the caller may not use is not declared.
    let denied = fixture.call("get_tool", json!({"name": "vault.find_secret", "as": "types"})).await;
    assert!(denied.error.is_some(), "{denied:?}");
}

#[test]
fn declarations_stay_within_their_bounds_and_say_what_they_leave_out() {
    let mut deep = json!({"type": "string"});
    for level in 0..6 {
        let names = (0..12)
            .map(|at| (format!("leaf_{level}_{at}"), json!({"type": "string", "description": "A leaf."})));
        let mut properties: serde_json::Map<String, Value> = names.collect();
        properties.insert("below".into(), deep);
        deep = json!({"type": "object", "properties": properties});
    }
    let tools: Vec<Tool> = (0..20)
        .map(|at| tool(&format!("report.sales_{at}"), "Makes a report of sales.", deep.clone()))
        .collect();
    let (_registry, discovery) = discovery(json!({"default_policy": "grant"}), tools);
    let search = ModelSearch {
        queries: vec!["make a report of sales".to_owned()],
        limit: 20,
        as_types: true,
        ..ModelSearch::default()
    };
    let told = discovery.search_for_model(&search, Principal::new("s")).unwrap().told;
    let types = told["types"].as_str().unwrap();
    assert!(types.len() <= MAX_SHOWN_BYTES && types.matches("sales_").count() == 20, "{}", types.len());
    assert!(told["note"].as_str().unwrap().contains("`path`"), "{told}");
    let card = discovery.tool_as_types("report.sales_1", Principal::new("s")).unwrap();
    assert!(card["types"].as_str().unwrap().len() <= MAX_SHOWN_BYTES + 100, "{card:?}");
}

#[test]
fn what_matters_before_a_call_is_told_with_its_declaration() {
    let none = json!({"type": "object", "properties": {}});
    let tools =
        vec![tool("shop.remove_order", "Removes an order.", none).with_risk(toolcrib_model::Risk::High)];
    let (_registry, discovery) = discovery(json!({"default_policy": "grant"}), tools);
    let search = ModelSearch {
        queries: vec!["remove an order".to_owned()],
        limit: 5,
        as_types: true,
        ..ModelSearch::default()
    };
    let told = discovery.search_for_model(&search, Principal::new("s")).unwrap().told;
    insta::assert_snapshot!(told["types"].as_str().unwrap(), @"
    declare const tools: {
      shop: {
        /** Removes an order. [asks the user] */
        remove_order(): Promise<unknown>;
      };
    };
    ");
    let card = discovery.tool_as_types("shop.remove_order", Principal::new("s")).unwrap();
    assert_eq!(card["asks"], "the user approves each call");
}
