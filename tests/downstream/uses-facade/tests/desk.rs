//! The packed crate `toolcrib`, with the default features and two more.

use serde_json::json;
use toolcrib::file::FileLoader;
use toolcrib::model::ErrorKind;
use toolcrib::port::ToolLoader as _;
use toolcrib::search::{SearchIndex, SearchOptions};
use uses_facade::desk::{call, desk};

#[tokio::test(flavor = "current_thread")]
async fn a_granted_call_runs_and_another_is_denied() {
    let open = desk(json!({"default_policy": "grant"})).await.unwrap();
    assert_eq!(call(&open, "desk.quote", json!({"kilograms": 2})).await.result, 690);
    let closed = desk(json!({"default_policy": "deny"})).await.unwrap();
    let denied = call(&closed, "desk.quote", json!({"kilograms": 2})).await.error.unwrap();
    assert_eq!(denied.kind, ErrorKind::Denied);
}

#[tokio::test(flavor = "current_thread")]
async fn the_tools_of_a_file_are_found() {
    let path = std::env::temp_dir().join(format!("uses-facade-{}.yaml", std::process::id()));
    std::fs::write(&path, "mail: [{name: send, description: Sends a message to a person.}]\n").unwrap();
    let loaded = FileLoader::new(&path).load().await;
    std::fs::remove_file(&path).unwrap();
    let tools: Vec<_> = loaded.tools.into_iter().collect();
    let index = SearchIndex::build(tools.iter()).unwrap();
    let found = index.search("write to Ada", &SearchOptions::default());
    assert!(found.hits.iter().any(|hit| hit.name.dotted() == "mail.send"), "{found:?}");
}
