//! The neighbours of tools, and the dataflow by the similarity of parameters.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;
use toolcrib_model::Tool;
use toolcrib_registry::enrichment::{Dataflow, ToolKey};
use toolcrib_registry::{Enrichment, Snapshot, ToolRegistry};

use super::super::{
    BuiltinEmbedder, EmbedError, Embeddings, EmbeddingsEnrichment, MAX_NEIGHBORS, NEAR_DUPLICATE, Neighbors,
    NeighborsEnrichment, SimilarDataflowEnrichment, ToolVectors,
};
use super::{Fault, Scripted, Words, tool};
use crate::cache::dataflow_cache::MAX_CACHED_DATAFLOWS;

/// A refresh with the vectors of the built-in embedder and one enrichment that depends on them.
async fn refreshed(
    embeddings: EmbeddingsEnrichment,
    enrichment: impl Enrichment + 'static,
    tools: Vec<Tool>,
) -> Result<Arc<Snapshot>, String> {
    let embeddings = embeddings.with_wait(std::time::Duration::ZERO);
    let enrichments: [Arc<dyn Enrichment>; 2] = [Arc::new(enrichment), Arc::new(embeddings)];
    let registry = ToolRegistry::new().with_enrichments(enrichments).unwrap();
    registry.add_loader(Arc::new(Scripted(Mutex::new(tools))));
    registry.refresh().await.map_err(|error| error.to_string())
}

fn builtin() -> EmbeddingsEnrichment {
    EmbeddingsEnrichment::new(Arc::new(BuiltinEmbedder::new().unwrap()))
}

fn with_argument(tool: Tool, name: &str, description: &str) -> Tool {
    tool.with_parameters(json!({
        "type": "object", "properties": {(name): {"type": "string", "description": description}},
    }))
}

#[tokio::test]
async fn the_neighbours_of_a_tool_are_the_most_similar_ones_and_copies_are_marked() {
    let weather = "Get the current weather forecast of a city.";
    let mut tools = vec![
        tool("get_weather", weather),
        tool("get_weather_forecast", weather),
        tool("send_invoice", "Send an invoice to a customer by mail."),
    ];
    tools.extend((0..20).map(|at| tool(&format!("invoice_{at}"), "Delete the invoice of a customer.")));
    let snapshot = refreshed(builtin(), NeighborsEnrichment, tools).await.unwrap();
    let neighbors = snapshot.artifacts().get::<Neighbors>(Neighbors::KEY).unwrap();
    let of = |at: usize| neighbors.of(&ToolKey::of(&snapshot.all()[at]));
    assert_eq!(of(0)[0].tool.name.name(), "get_weather_forecast");
    assert!(of(0)[0].is_near_duplicate && of(0)[0].similarity >= NEAR_DUPLICATE, "{:?}", of(0)[0]);
    assert!(!of(0)[1].is_near_duplicate, "{:?}", of(0)[1]);
    for at in 0..snapshot.all().len() {
        assert_eq!(of(at).len(), MAX_NEIGHBORS);
        assert!(of(at).iter().all(|neighbor| *neighbor.tool != ToolKey::of(&snapshot.all()[at])));
        assert!(of(at).is_sorted_by(|one, other| one.similarity >= other.similarity));
    }
}

#[tokio::test]
async fn each_overload_has_a_vector() {
    let by_city = with_argument(tool("get_weather", "Weather of a city."), "city", "The city.");
    let by_place = with_argument(tool("get_weather", "Weather at coordinates."), "latitude", "The latitude.");
    let tools = vec![by_city, by_place, tool("other", "Sends mail.")];
    let snapshot = refreshed(builtin(), NeighborsEnrichment, tools).await.unwrap();
    let vectors = Embeddings::finished_in(snapshot.artifacts()).await.unwrap();
    let overloads = ToolVectors::new(snapshot.all(), &vectors).unwrap();
    let of = |at: usize| overloads.of(&ToolKey::of(&snapshot.all()[at])).unwrap();
    assert_ne!(of(0), of(1));
    assert_eq!(of(2), vectors.of(&snapshot.all()[2].tool.name).unwrap());
    let neighbors = snapshot.artifacts().get::<Neighbors>(Neighbors::KEY).unwrap();
    assert_eq!(*neighbors.of(&ToolKey::of(&snapshot.all()[0]))[0].tool, ToolKey::of(&snapshot.all()[1]));
}

#[tokio::test]
async fn a_result_flows_into_an_argument_of_similar_meaning() {
    let find = tool("find_customer", "Finds a customer.").with_output_parameters(json!({
        "type": "object",
        "properties": {"mail": {"type": "string", "description": "The email address of the customer."}},
    }));
    let send =
        with_argument(tool("send", "Sends a message."), "recipient", "Email address of the recipient.");
    let resize =
        with_argument(tool("resize", "Resizes a picture."), "picture", "Width and height in pixels.");
    let tools = vec![find, send, resize];
    let snapshot = refreshed(builtin(), SimilarDataflowEnrichment::default(), tools).await.unwrap();
    let dataflow = snapshot.artifacts().get::<Dataflow>(Dataflow::KEY).unwrap();
    let consumers = dataflow.consumers(&ToolKey::of(&snapshot.all()[0]));
    let told: Vec<_> =
        consumers.iter().map(|edge| (edge.consumer.name.name(), &*edge.pairs[0].argument)).collect();
    assert_eq!(told, [("send", "recipient")]);
    assert!((0.5..1.0).contains(&consumers[0].score), "{}", consumers[0].score);
}

#[tokio::test]
async fn without_an_embedder_the_refresh_fails_with_the_reason() {
    let broken =
        || EmbeddingsEnrichment::degraded(EmbedError::Model { model: "m".into(), message: "no file".into() });
    let reason = "no file";
    let told = refreshed(broken(), NeighborsEnrichment, vec![tool("a", "A.")]).await.unwrap_err();
    assert!(told.contains("`neighbors` failed") && told.contains(reason), "{told}");
    let told =
        refreshed(broken(), SimilarDataflowEnrichment::default(), vec![tool("a", "A.")]).await.unwrap_err();
    assert!(told.contains("`dataflow` failed") && told.contains(reason), "{told}");
}

#[tokio::test]
async fn the_dataflow_of_the_same_tools_is_read_from_the_cache() {
    let folder = tempfile::tempdir().unwrap();
    let output = |name: &str| {
        let properties =
            json!({(name): {"type": "string", "description": "The email address of the customer."}});
        tool("find_customer", "Finds a customer.")
            .with_output_parameters(json!({"type": "object", "properties": properties}))
    };
    let send =
        with_argument(tool("send", "Sends a message."), "recipient", "Email address of the recipient.");
    let words = Words::new(Fault::None);
    let edges = async |tools: Vec<Tool>| {
        let enrichment = SimilarDataflowEnrichment::default().with_cache(folder.path());
        let snapshot = refreshed(EmbeddingsEnrichment::new(words.clone()), enrichment, tools).await.unwrap();
        let dataflow = snapshot.artifacts().get::<Dataflow>(Dataflow::KEY).unwrap();
        dataflow.consumers(&ToolKey::of(&snapshot.all()[0])).to_vec()
    };
    let files = || {
        let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        files
            .filter(|path| path.extension().is_some_and(|extension| extension == "dataflow"))
            .collect::<Vec<_>>()
    };
    let first = edges(vec![output("mail"), send.clone()]).await;
    assert_eq!((first.len(), files().len()), (1, 1));
    let is_parameter = |text: &String| text.starts_with("mail string");
    assert!(words.given().iter().any(is_parameter));
    let file = files().remove(0);
    let written = std::fs::read(&file).unwrap();
    assert_eq!(edges(vec![output("mail"), send.clone()]).await, first);
    assert!(!words.given().iter().any(is_parameter), "nothing is compared again");

    let mut damaged = written.clone();
    damaged[40] ^= 1;
    std::fs::write(&file, damaged).unwrap();
    assert_eq!(edges(vec![output("mail"), send.clone()]).await, first);
    assert_eq!(std::fs::read(&file).unwrap(), written, "a damaged file is replaced");

    for at in 0..6 {
        edges(vec![output(&format!("mail{at}")), send.clone()]).await;
    }
    assert_eq!(files().len(), MAX_CACHED_DATAFLOWS, "the number of files is bounded");
}
