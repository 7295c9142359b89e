//! The answers of `get_tool`.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, JsonObject, Tool, ToolError};
use toolcrib_policy::{Policy, Principal};
use toolcrib_registry::enrichment::SuppliersEnrichment;
use toolcrib_registry::{Enrichment, ToolRegistry};

use super::signatures::tool;
use crate::{Discovery, MAX_SHOWN_BYTES, ToolDetail};

struct Tools(Vec<Tool>);

#[async_trait::async_trait]
impl toolcrib_port::ToolLoader for Tools {
    fn source(&self) -> &'static str {
        "tools"
    }

    async fn load(&self) -> toolcrib_port::LoadOutcome {
        toolcrib_port::LoadOutcome { tools: self.0.clone(), rejected: vec![] }
    }
}

async fn shown(tools: Vec<Tool>, path: &str, include: &[ToolDetail]) -> Result<JsonObject, ToolError> {
    let name = tools[0].name.dotted();
    let policy =
        Policy::new(&serde_json::from_value(json!({"default_policy": "grant"})).unwrap(), []).unwrap();
    let suppliers = [Arc::new(SuppliersEnrichment) as Arc<dyn Enrichment>];
    let registry = Arc::new(ToolRegistry::new().with_enrichments(suppliers).unwrap());
    registry.add_loader(Arc::new(Tools(tools)));
    registry.refresh().await.unwrap();
    let discovery = Discovery::new(&registry, Arc::new(policy));
    discovery.tool_for_model(&name, path, include, Principal::new("s"))
}

#[tokio::test]
async fn a_tool_is_shown_by_its_parameters_and_description_and_the_rest_on_request() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "GetOrder",
        "type": "object",
        "properties": {
            "title": {"type": "string", "title": "Title", "description": "The title\n  of the order."},
            "order_id": {"type": "integer", "format": "int64"},
        },
        "required": ["order_id"],
        "additionalProperties": false,
    });
    let result = json!({"type": "object", "properties": {"order_id": {"type": "integer"}, "token": {"type": "string"}}});
    let get = tool("shop.get_order", "Returns an order.", schema)
        .with_output_parameters(json!({"type": "object", "properties": {"total": {"type": "number"}}}))
        .with_metadata("tags", json!(["orders"]))
        .with_metadata("mcp_digest", "abc")
        .with_metadata("source", "rest specs/shop.json as shop");
    let list = tool("shop.list_orders", "Lists orders.", json!({})).with_output_parameters(result);
    let tools = vec![get, list];
    let plain = shown(tools.clone(), "", &[]).await.unwrap();
    let all =
        shown(tools, "", &[ToolDetail::Output, ToolDetail::Suppliers, ToolDetail::Metadata]).await.unwrap();
    insta::assert_json_snapshot!([plain, all]);
}

#[tokio::test]
async fn suppliers_are_told_only_with_strong_evidence() {
    let text = || json!({"type": "string"});
    let parameters = json!({"type": "object", "properties": {
        "token": text(), "api_key": text(), "text": text(), "channel_id": text(), "user_id": {"type": "integer"},
    }});
    let results = json!({"type": "object", "properties": {
        "token": text(), "api_key": text(), "text": text(), "channel_id": text(), "user_id": text(),
    }});
    let tools = vec![
        tool("slack.post_message", "Posts a message.", parameters),
        tool("slack.find_channel", "Finds a channel.", json!({})).with_output_parameters(results.clone()),
        tool("other.find_channel", "Finds a channel.", json!({})).with_output_parameters(results),
    ];
    let told = shown(tools, "", &[ToolDetail::Suppliers]).await.unwrap();
    assert_eq!(told["suppliers"], json!({"channel_id": ["slack.find_channel: channel_id"]}));
}

#[tokio::test]
async fn each_form_is_shown_with_its_own_description() {
    let form = |description: &str, argument: &str| {
        tool(
            "units.convert",
            description,
            json!({"type": "object", "properties": {argument: {"type": "number"}}}),
        )
    };
    let told =
        shown(vec![form("Converts a temperature.", "celsius"), form("Converts money.", "amount")], "", &[]);
    let told = told.await.unwrap();
    assert_eq!(told["forms"][0]["description"], "Converts a temperature.");
    assert_eq!(told["forms"][1]["description"], "Converts money.");
    assert!(told["forms"][1]["parameters"]["properties"]["amount"].is_object(), "{told:?}");
    assert!(told.get("description").is_none());
}

/// A schema that is far too long: objects in objects in lists, which refer to themselves.
fn deep() -> Value {
    let about = "What this is for, which takes a whole sentence to say. And another one that nobody needs.";
    let leaves = (0..12).map(|at| (format!("leaf_{at}"), json!({"type": "string", "description": about})));
    let mut node: serde_json::Map<String, Value> = leaves.collect();
    node.insert(
        "children".into(),
        json!({"type": "array", "items": {"$ref": "#/$defs/node"}, "description": about}),
    );
    node.insert("owner".into(), json!({"allOf": [{"$ref": "#/$defs/node"}], "description": about}));
    node.insert("either".into(), json!({"oneOf": [{"$ref": "#/$defs/node"}, {"type": "string"}]}));
    let node = json!({"type": "object", "properties": node, "required": ["leaf_3"]});
    let others = (0..100).map(|at| (format!("unused_{at}"), json!({"type": "string", "description": about})));
    let mut definitions: serde_json::Map<String, Value> = others.collect();
    definitions.insert("node".into(), node);
    json!({"type": "object", "properties": {"body": {"$ref": "#/$defs/node"}}, "required": ["body"], "$defs": definitions})
}

#[tokio::test]
async fn parameters_that_are_too_long_are_cut_by_depth_and_each_part_opens_by_its_path() {
    let tools = vec![tool("graph.add", "Adds a node.", deep())];
    let mut waiting = vec![String::new()];
    let mut opened = 0;
    while let Some(path) = waiting.pop() {
        let told = shown(tools.clone(), &path, &[]).await.unwrap();
        let schema = &told["parameters"];
        assert!(schema.to_string().len() <= MAX_SHOWN_BYTES, "{path}: {schema}");
        assert!(!schema.to_string().contains("$ref"), "{path}: {schema}");
        if path.matches('/').count() <= 2 {
            waiting.extend(places(schema));
        }
        assert_eq!(told.contains_key("note"), !places(schema).is_empty(), "{path}");
        opened += 1;
    }
    assert!(opened > 4, "{opened}");
    let part = shown(tools.clone(), "body.children.owner", &[]).await.unwrap();
    assert_eq!(part["parameters"]["required"], json!(["leaf_3"]), "{part:?}");
    let error = shown(tools, "/body/spec", &[]).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidArgs);
    insta::assert_snapshot!(format!("{} ({})", error.message, error.hint.unwrap()), @"there is no part `spec` in `/body` (its parts are: `leaf_3`, `leaf_0`, `leaf_1`, `leaf_2`, `leaf_4`, `leaf_5`, `leaf_6`, `leaf_7`, `leaf_8`, `leaf_9`, `leaf_10`, `leaf_11`, `children`, `owner`, `either`)");
}

/// The paths of a schema that can be opened.
fn places(schema: &Value) -> Vec<String> {
    let own = schema.get("open").and_then(Value::as_str).map(str::to_owned);
    let inner: Vec<&Value> = match schema {
        Value::Object(map) => map.values().collect(),
        Value::Array(list) => list.iter().collect(),
        _ => Vec::new(),
    };
    own.into_iter().chain(inner.into_iter().flat_map(places)).collect()
}

#[tokio::test]
async fn of_too_many_parameters_the_required_are_shown_and_the_others_open_by_name() {
    let property = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let properties: serde_json::Map<String, Value> =
        (0..900).map(|at| (format!("property_{at}"), property.clone())).collect();
    let schema = json!({"type": "object", "properties": properties, "required": ["property_777"]});
    let tools = vec![tool("wide.call", "Has many.", schema)];
    let told = shown(tools.clone(), "", &[]).await.unwrap();
    let parameters = &told["parameters"];
    assert!(parameters.to_string().len() <= MAX_SHOWN_BYTES, "{parameters}");
    assert_eq!(parameters["properties"]["property_777"]["open"], "/property_777");
    let shown_ones =
        parameters["properties"].as_object().unwrap().len() + parameters["others"].as_array().unwrap().len();
    assert_eq!(u64::try_from(shown_ones).unwrap() + parameters["more"].as_u64().unwrap(), 900);
    let other = format!("/{}", parameters["others"][0].as_str().unwrap());
    assert_eq!(shown(tools, &other, &[]).await.unwrap()["parameters"]["properties"]["a"]["type"], "string");
}
