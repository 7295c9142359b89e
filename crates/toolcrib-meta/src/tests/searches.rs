//! Searches of several queries and within one namespace.

use serde_json::{Value, json};
use toolcrib_model::ErrorKind;

use super::fixture;

#[tokio::test]
async fn one_search_finds_the_tools_of_each_step_and_shows_a_tool_once() {
    let fixture = fixture().await;
    let queries =
        json!(["read a text file", "weather of the coming days", "remove a file", "chop wood", "read file"]);
    let found = fixture.call("search_tools", json!({"queries": queries, "max_results": 2})).await;
    insta::assert_json_snapshot!(found.result);
}

#[tokio::test]
async fn a_search_in_a_namespace_finds_its_tools_only() {
    let fixture = fixture().await;
    let search = async |arguments: Value| fixture.call("search_tools", arguments).await;
    for name in ["files", "Files", "FILES"] {
        let found = search(json!({"query": "weather forecast of a file", "namespace": name})).await;
        let lines = found.result["results"].to_string();
        assert!(lines.contains("files.") && !lines.contains("weather."), "{name}: {found:?}");
    }
    let found = search(json!({"query": "forecast", "server": "weather"})).await;
    assert!(found.result["results"][0].as_str().unwrap().starts_with("weather.forecast("), "{found:?}");
    let found = search(json!({"query": "forecast", "namespace": "files"})).await;
    insta::assert_json_snapshot!(found.result);
    let error = search(json!({"query": "forecast", "namespace": "file"})).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert_eq!(error.hint.as_deref(), Some("did you mean `files`?"));
    // A namespace that the caller may not use is like one that does not exist.
    let error = search(json!({"query": "secret", "namespace": "vault"})).await.error.unwrap();
    assert_eq!(error.message, "there is no category `vault`");
}

#[tokio::test]
async fn a_search_without_a_query_says_what_is_missing() {
    let fixture = fixture().await;
    let error = fixture.call("search_tools", json!({"max_results": 2})).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::InvalidArgs);
    insta::assert_snapshot!(error.to_string());
}
