//! The promises of tools that search documents, on a real executor.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_exec::{DenyAll, Executor};
use toolcrib_model::{JsonObject, QualifiedName, Tool, ToolCall, ToolResult};
use toolcrib_policy::Policy;
use toolcrib_port::CallContext;
use toolcrib_registry::ToolRegistry;

use super::{DocumentSearchEngine, MAX_SIZE};

const ARTICLES: [(&str, &str); 4] = [
    ("Parcels to Oslo", "A parcel to Oslo takes two days."),
    ("Parcels to Bergen", "A parcel to Bergen takes three days, and costs more than one to Oslo."),
    ("Opening hours", "The desk is closed on Sundays."),
    ("Insurance", "Each parcel is insured."),
];

fn articles() -> Vec<Value> {
    ARTICLES.iter().map(|(title, body)| json!({"title": title, "body": body, "views": 7})).collect()
}

fn engine(settings: Value) -> Result<DocumentSearchEngine, String> {
    let settings: super::DocumentSearchSettings =
        serde_json::from_value(settings).map_err(|error| error.to_string())?;
    if settings.path.is_some() {
        DocumentSearchEngine::of_file(settings)
    } else {
        DocumentSearchEngine::of_memory(settings)
    }
}

async fn call(settings: Value, arguments: Value) -> ToolResult {
    let schema =
        json!({"type": "object", "properties": {"query": {"type": "string"}, "words": {"type": "string"}}});
    let tool = Tool::new(QualifiedName::new("help", "find").unwrap()).with_parameters(schema);
    let registry = ToolRegistry::from_tools("help", [tool]).unwrap();
    let capabilities = serde_json::from_value(json!({"default_policy": "grant"})).unwrap();
    let policy = Policy::new(&capabilities, []).unwrap();
    let executor = Executor::new(Arc::new(registry), Arc::new(policy), Arc::new(DenyAll));
    let executor = Arc::new(executor.with_engine("help", Arc::new(engine(settings).unwrap())));
    let arguments: JsonObject = serde_json::from_value(arguments).unwrap();
    let call = ToolCall { name: "help::find".to_owned(), arguments, call_id: None };
    executor.tool_caller().call(call, &CallContext::new("s")).await
}

fn titles(result: &ToolResult) -> Vec<&str> {
    let results = result.result["results"].as_array().unwrap();
    results.iter().map(|result| result["document"]["title"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_best_documents_come_first_and_at_most_as_many_as_the_size() {
    let query = json!({"query": "how long does a parcel to Oslo take"});
    let result = call(json!({"documents": articles()}), query.clone()).await;
    assert_eq!(titles(&result), ["Parcels to Oslo", "Parcels to Bergen", "Insurance"]);
    let first = &result.result["results"][0];
    assert_eq!(first["document"]["views"], 7, "documents are returned whole");
    assert!((0.3..1.0).contains(&first["relevance"].as_f64().unwrap()), "{first}");
    let result = call(json!({"documents": articles(), "size": 1}), query).await;
    assert_eq!(titles(&result), ["Parcels to Oslo"]);
}

#[tokio::test]
async fn documents_below_the_threshold_are_left_out() {
    let settings = json!({"documents": articles(), "relevance_threshold": 0.5});
    let result = call(settings, json!({"query": "insured parcel"})).await;
    assert_eq!(titles(&result), ["Insurance"]);
}

#[cfg(feature = "tantivy")]
#[tokio::test]
async fn tantivy_ranks_whole_documents_by_the_words_of_any_text() {
    let settings =
        |threshold| json!({"documents": articles(), "index": "tantivy", "relevance_threshold": threshold});
    let query = json!({"query": "how long does a +parcel to (Oslo take\" AND"});
    let result = call(settings(0.0), query).await;
    assert_eq!(titles(&result)[..2], ["Parcels to Oslo", "Parcels to Bergen"]);
    let first = &result.result["results"][0];
    assert!((0.2..1.0).contains(&first["relevance"].as_f64().unwrap()), "{first}");
    let result = call(settings(0.5), json!({"query": "insured parcel"})).await;
    assert_eq!(titles(&result), ["Insurance"]);
    let result = call(settings(0.0), json!({"query": ""})).await;
    assert_eq!(result.result, json!({"results": []}));
    let long = "nothing ".repeat(8 * 1024) + "elephants";
    let documents = json!([long, "nothing"]);
    for (index, expected) in [("builtin", 0), ("tantivy", 1)] {
        let engine = engine(json!({"documents": documents, "index": index})).unwrap();
        assert_eq!(engine.search("elephant").unwrap().len(), expected, "{index}");
    }
}

#[tokio::test]
async fn a_search_without_results_is_an_empty_list_or_the_error_of_the_settings() {
    let query = json!({"query": "elephants"});
    let result = call(json!({"documents": articles()}), query.clone()).await;
    assert_eq!(result.result, json!({"results": []}));
    let settings = json!({"documents": articles(), "empty_result": "No article has these words."});
    let error = call(settings, query).await.error.unwrap();
    assert_eq!(error.message, "No article has these words.");
}

#[tokio::test]
async fn only_the_chosen_members_are_searched_by_the_chosen_argument() {
    let settings = json!({"documents": articles(), "fields": ["title"], "query": "words"});
    let result = call(settings.clone(), json!({"words": "closed Oslo"})).await;
    assert_eq!(titles(&result), ["Parcels to Oslo"]);
    let error = call(settings, json!({"query": "Oslo"})).await.error.unwrap();
    assert_eq!(error.message, "the call has no text `words` to search for");
}

#[tokio::test]
async fn a_file_has_one_document_for_each_line_or_one_list() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("articles.jsonl");
    let lines: Vec<String> = articles().iter().map(Value::to_string).collect();
    for text in [lines.join("\n") + "\n\n", json!(articles()).to_string()] {
        std::fs::write(&path, text).unwrap();
        let result = call(json!({"path": path}), json!({"query": "sunday"})).await;
        assert_eq!(titles(&result), ["Opening hours"]);
    }
    std::fs::write(&path, "\"a text\"\n{\"title\": \n").unwrap();
    let error = engine(json!({"path": path})).unwrap_err().replace(path.to_str().unwrap(), "articles.jsonl");
    assert_eq!(error, "articles.jsonl: line 2: EOF while parsing a value at column 10");
}

#[test]
fn settings_that_cannot_be_used_are_refused() {
    let refused = |settings: Value| engine(settings).unwrap_err();
    assert_eq!(refused(json!({})), "`search/in_memory` has `documents`, and no `path`");
    assert_eq!(
        refused(json!({"path": "a", "documents": []})),
        "`search/file` has a `path`, and no `documents`"
    );
    assert_eq!(
        refused(json!({"documents": [], "size": MAX_SIZE + 1})),
        format!("`size` is at most {MAX_SIZE}, found {}", MAX_SIZE + 1)
    );
    assert_eq!(
        refused(json!({"documents": [], "relevance_threshold": 1.5})),
        "`relevance_threshold` is from 0 to 1, found 1.5"
    );
    assert!(refused(json!({"documents": [], "limit": 3})).contains("unknown field `limit`"));
}
