//! The promises of inferred schemas, with a real model client and a scripted server.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_agent::api::ApiSettings;
use toolcrib_agent::{ApiModel, Brain, Provider};
use toolcrib_io::http::{HttpClient, HttpPolicy};
use toolcrib_model::{QualifiedName, Secret, Tool};
use toolcrib_port::{LoadOutcome, ToolLoader};
use toolcrib_registry::enrichment::{Dataflow, DataflowEnrichment, ToolKey};
use toolcrib_registry::{Enrichment, RefreshError, Snapshot, ToolRegistry};
use toolcrib_testkit::{ModelServer, Turn};

use super::*;

/// A loader of constant tools.
struct Constant(Vec<Tool>);

#[async_trait::async_trait]
impl ToolLoader for Constant {
    fn source(&self) -> &'static str {
        "constant"
    }

    async fn load(&self) -> LoadOutcome {
        LoadOutcome { tools: self.0.clone(), ..LoadOutcome::default() }
    }
}

fn object(properties: &Value) -> Value {
    json!({"type": "object", "properties": properties})
}

/// Returns tools of which the first two declare no schema of their results.
fn tools() -> Vec<Tool> {
    let tool = |name: &str, input: &str| {
        Tool::new(QualifiedName::new("shop", name).unwrap())
            .with_description(format!("Does {name}."))
            .with_parameters(object(&json!({input: {"type": "string"}})))
    };
    let declared = object(&json!({"total": {"type": "number"}}));
    vec![
        tool("find", "words"),
        tool("open", "order_id"),
        tool("sum", "list").with_output_parameters(declared),
    ]
}

/// Returns a model that replies to each question with the schema of an order.
async fn model() -> ModelServer {
    ModelServer::answering(|_: &Value| Turn::text(schema("order_id"))).await.unwrap()
}

fn schema(property: &str) -> String {
    json!({"schema": object(&json!({property: {"type": "string"}}))}).to_string()
}

fn enrichment(server: &ModelServer, settings: Value) -> OutputParametersEnrichment {
    let http = HttpClient::new(HttpPolicy { allow_private: true, ..HttpPolicy::default() }).unwrap();
    let model = ApiSettings::new(Provider::Vllm)
        .with_base_url(server.base_url())
        .with_api_key(Secret::new("sk-test"))
        .with_stream(false);
    let brain = Brain { name: "teacher".to_owned(), model: Arc::new(ApiModel::new(model, &http).unwrap()) };
    OutputParametersEnrichment::new(brain, serde_json::from_value(settings).unwrap()).unwrap()
}

fn registry(enrichment: OutputParametersEnrichment, tools: Vec<Tool>) -> ToolRegistry {
    // The dataflow is listed first, and sees the inferred schemas nevertheless.
    let enrichments: [Arc<dyn Enrichment>; 2] =
        [Arc::new(DataflowEnrichment::default()), Arc::new(enrichment)];
    let registry = ToolRegistry::new().with_enrichments(enrichments).unwrap();
    registry.add_loader(Arc::new(Constant(tools)));
    registry
}

fn outputs(snapshot: &Snapshot) -> Vec<Vec<String>> {
    let properties = |tool: &Tool| {
        let schema = tool.output_parameters.to_value();
        schema["properties"].as_object().map(|map| map.keys().cloned().collect()).unwrap_or_default()
    };
    snapshot.all().iter().map(|entry| properties(&entry.tool)).collect()
}

fn inferred(snapshot: &Snapshot) -> Arc<InferredOutputs> {
    snapshot.artifacts().get(OutputParametersEnrichment::KEY).unwrap()
}

#[tokio::test]
async fn tools_without_a_schema_of_results_get_one_that_other_enrichments_see() {
    let server = model().await;
    let registry = registry(enrichment(&server, json!({})), tools());
    let snapshot = registry.refresh().await.unwrap();
    assert_eq!(outputs(&snapshot), [["order_id"], ["order_id"], ["total"]]);
    let dataflow = snapshot.artifacts().get::<Dataflow>(Dataflow::KEY).unwrap();
    let [find, open, _] = [0, 1, 2].map(|at| ToolKey::of(&snapshot.all()[at]));
    assert!(dataflow.consumers(&find).iter().any(|edge| *edge.consumer == open));
    assert_eq!(inferred(&snapshot).inferred, [find, open]);
    let request = server.requests()[0].json().unwrap();
    assert_eq!(request["response_format"], json!({"type": "json_object"}));
    // A refresh asks for nothing that is known.
    let asked = server.requests().len();
    registry.refresh().await.unwrap();
    assert_eq!((asked, server.requests().len()), (2, 2));
}

#[tokio::test]
async fn schemas_are_kept_by_the_content_of_tools_until_they_are_forced() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new/schemas.jsonl");
    let refreshed = async |settings: Value, property: &'static str, tools: Vec<Tool>| {
        let server = ModelServer::answering(move |_: &Value| Turn::text(schema(property))).await.unwrap();
        let enrichment = enrichment(&server, settings).with_cache(&file);
        let snapshot = registry(enrichment, tools).refresh().await.unwrap();
        (server.requests().len(), outputs(&snapshot)[0].clone())
    };
    assert_eq!(refreshed(json!({}), "first", tools()).await, (2, vec!["first".to_owned()]));
    assert_eq!(refreshed(json!({}), "second", tools()).await, (0, vec!["first".to_owned()]));
    let mut changed = tools();
    changed[0] = changed[0].clone().with_description("Finds.");
    assert_eq!(refreshed(json!({}), "second", changed).await, (1, vec!["second".to_owned()]));
    assert_eq!(refreshed(json!({"force": true}), "third", tools()).await, (2, vec!["third".to_owned()]));
    assert_eq!(refreshed(json!({}), "fourth", tools()).await, (0, vec!["third".to_owned()]));
}

#[tokio::test]
async fn a_reply_that_is_no_schema_is_asked_for_again_and_then_costs_its_tool_alone() {
    let rubbish = [
        "I cannot say.",
        r#"{"schema": {}}"#,
        r#"{"schema": {"type": "objekt"}}"#,
        r#"{"schema": "object"}"#,
    ];
    let turns = rubbish.map(Turn::text).into_iter().chain([Turn::text(schema("order_id"))]);
    let server = ModelServer::start(turns.collect::<Vec<_>>()).await.unwrap();
    let settings = json!({"parallel": 1, "attempts": 4});
    let snapshot = registry(enrichment(&server, settings), tools()).refresh().await.unwrap();
    assert_eq!(outputs(&snapshot), [vec![], vec!["order_id".to_owned()], vec!["total".to_owned()]]);
    let artifact = inferred(&snapshot);
    assert_eq!((artifact.inferred.len(), &*artifact.failed[0].0.name.to_string()), (1, "shop::find"));
    assert!(artifact.failed[0].1.contains("invalid type: string"), "{}", artifact.failed[0].1);
    let last = server.requests()[3].json().unwrap();
    let told = last["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    assert!(told.starts_with("This cannot be used: "), "{told}");
}

#[tokio::test]
async fn a_model_that_cannot_be_asked_keeps_the_tools_as_they_were_and_what_it_replied() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("schemas.jsonl");
    let refused = Turn::text("").refused_first(401);
    let server = ModelServer::start(vec![Turn::text(schema("order_id")), refused]).await.unwrap();
    let failing = enrichment(&server, json!({"parallel": 1})).with_cache(&file);
    let error = registry(failing, tools()).refresh().await.unwrap_err();
    assert!(matches!(&error, RefreshError::Enrichment { key, .. } if key == "output_parameters"), "{error}");
    let server = model().await;
    let again = enrichment(&server, json!({})).with_cache(&file);
    registry(again, tools()).refresh().await.unwrap();
    assert_eq!(server.requests().len(), 1, "the first reply was kept");
}

#[tokio::test]
async fn only_selected_tools_are_asked_about() {
    let server = model().await;
    let settings = json!({"tools": ["*::open"]});
    let snapshot = registry(enrichment(&server, settings), tools()).refresh().await.unwrap();
    assert_eq!(outputs(&snapshot)[..2], [vec![], vec!["order_id".to_owned()]]);
}

#[test]
fn settings_out_of_range_are_refused() {
    let told = |settings: Value| {
        serde_json::from_value::<OutputParametersSettings>(settings).unwrap().check().unwrap_err()
    };
    assert_eq!(told(json!({"attempts": 0})), "`attempts` is from 1 to 10, not 0");
    assert_eq!(told(json!({"parallel": 65})), "`parallel` is from 1 to 64, not 65");
    assert_eq!(told(json!({"tools": [""]})), "a pattern of tools has from 1 to 1000 bytes");
}
