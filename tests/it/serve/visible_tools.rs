//! What clients are shown: the same each time, as much as was asked for, and what is behind it.

use serde_json::{Value, json};

use super::client::{Served, app, call_ask, was_called};

const GRANTED: &str = "{default_policy: grant}";

fn names(list: &Value) -> Vec<&str> {
    let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("{list}"));
    let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
    // What goes on in the background is tested elsewhere.
    names.filter(|name| !name.contains("background")).collect()
}

#[tokio::test]
async fn both_revisions_of_the_protocol_are_answered_on_one_endpoint_and_say_the_same() {
    let dir = app("", GRANTED);
    let served = Served::start(&dir, &[]).await;
    let found = served.modern(&[], "server/discover", json!({})).await;
    let versions = found["result"]["supportedVersions"].to_string();
    assert!(versions.contains("2026-07-28") && versions.contains("2025-11-25"), "{found}");
    assert!(found["result"]["ttlMs"].as_u64().unwrap() > 0);
    let modern = served.modern(&[], "tools/list", json!({})).await;
    assert_eq!(modern["result"]["cacheScope"], "private");
    let session = served.session(&[], json!({})).await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let old = served.post(&[("mcp-session-id", &session)], &list).await.message();
    assert_eq!(old["result"]["tools"], modern["result"]["tools"]);
    assert_eq!(served.modern(&[], "tools/list", json!({})).await["result"], modern["result"]);
    assert_eq!(
        names(&modern),
        [
            "run_parallel",
            "read_result",
            "hello__greet_many",
            "hello__say_hello",
            "hello__status",
            "team__ask"
        ]
    );
    let annotations = |name: &str| {
        let tools = modern["result"]["tools"].as_array().unwrap();
        tools.iter().find(|tool| tool["name"] == name).unwrap()["annotations"].clone()
    };
    assert_eq!(annotations("hello__status")["readOnlyHint"], true);
    assert_eq!(annotations("team__ask")["readOnlyHint"], false);
    // It may run anything, so it says so.
    assert_eq!(annotations("run_parallel")["destructiveHint"], true);
    assert_eq!(annotations("read_result")["readOnlyHint"], true);
}

#[tokio::test]
async fn a_surface_shows_what_was_asked_for_and_pinned_tools_in_any_case() {
    let dir = app("serve: {pin: [hello.status]}", GRANTED);
    let served = Served::start(&dir, &["--surface", "mixed"]).await;
    let list = served.modern(&[], "tools/list", json!({})).await;
    let expected = [
        "search_tools",
        "get_tool",
        "execute_tool",
        "run_parallel",
        "list_categories",
        "browse_category",
        "read_result",
        "hello__status",
    ];
    assert_eq!(names(&list), expected);
    // What is not shown can be found, and then be called by the name that it is found by, or through the tool for that.
    let run = json!({"name": "execute_tool", "arguments": {"name": "team.ask", "params": {"what": "x"}}});
    assert_eq!(served.modern(&[], "tools/call", run).await["result"]["content"][0]["text"], "done");
    assert_eq!(served.modern(&[], "tools/call", call_ask()).await["result"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn a_tool_is_run_by_what_it_does_where_that_was_asked_for() {
    let dir = app("serve: {surface: discovery, split_execute: true}", GRANTED);
    let served = Served::start(&dir, &[]).await;
    let list = served.modern(&[], "tools/list", json!({})).await;
    let expected = [
        "search_tools",
        "get_tool",
        "execute_read",
        "execute_write",
        "execute_destructive",
        "list_categories",
        "browse_category",
        "read_result",
    ];
    assert_eq!(names(&list), expected);
    let execute = |with: &str, name: &str| json!({"name": with, "arguments": {"name": name, "params": {}}});
    let refused = [
        (execute("execute_read", "team.ask"), "make the same call with `execute_write`"),
        (execute("execute_destructive", "team.ask"), "make the same call with `execute_write`"),
        (execute("execute_write", "hello.status"), "make the same call with `execute_read`"),
        (execute("execute_read", "run_parallel"), "is not served here"),
        // A former name is no way round this either.
        (
            json!({"name": "execute_read", "arguments": {"name": "background_status", "params": {"tool": "team.ask"}}}),
            "is not served here",
        ),
        (json!({"name": "background_status", "arguments": {"tool": "team.ask"}}), "is not served here"),
        (
            execute("execute_tool", "team.ask"),
            "by one of `execute_read`, `execute_write`, `execute_destructive`",
        ),
        (
            json!({"name": "context_builder.run_parallel", "arguments": {"calls": [{"name": "team.ask"}]}}),
            "is not served here",
        ),
        (
            json!({"name": "execute_read", "arguments": {"name": "hello.status", "tool": "team.ask"}}),
            "and nothing else",
        ),
    ];
    for (params, hint) in refused {
        let answer = served.modern(&[], "tools/call", params.clone()).await;
        assert_eq!(answer["result"]["isError"], true, "{params} {answer}");
        assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains(hint), "{params} {answer}");
    }
    assert!(!was_called(&dir));
    let read = served.modern(&[], "tools/call", execute("execute_read", "hello.status")).await;
    assert_eq!(read["result"]["isError"], false, "{read}");
    let written = served.modern(&[], "tools/call", execute("execute_write", "team.ask")).await;
    assert_eq!(written["result"]["content"][0]["text"], "done", "{written}");
}

#[tokio::test]
async fn a_large_result_is_a_link_to_a_resource_that_only_its_session_reads() {
    let dir = app("", GRANTED).with_file(
        "server.sh",
        crate::support::mcp_script(r#"on_call() { line=$(printf 'abcdefghij%.0s' $(seq 1 100)); all=$line; for i in $(seq 1 99); do all="$all\\n$line"; done; text "$all"; }"#),
    );
    let served = Served::start(&dir, &[]).await;
    let session = served.session(&[], json!({})).await;
    let named = [("mcp-session-id", session.as_str())];
    let request = |id: u64, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let called = served.post(&named, &request(1, "tools/call", call_ask())).await.message();
    let link =
        called["result"]["content"].as_array().unwrap().iter().find(|block| block["type"] == "resource_link");
    let uri = link.unwrap_or_else(|| panic!("{called}"))["uri"].as_str().unwrap().to_owned();
    assert!(uri.starts_with("toolcrib://result/r_"), "{uri}");
    let read = served.post(&named, &request(2, "resources/read", json!({"uri": uri}))).await.message();
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("abcdefghij"), "{read}");
    let next = format!("{uri}?page=2");
    let read = served.post(&named, &request(3, "resources/read", json!({"uri": next}))).await.message();
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("page 2 of"), "{read}");
    let other = served.session(&[], json!({})).await;
    let stolen =
        served.post(&[("mcp-session-id", &other)], &request(1, "resources/read", json!({"uri": uri}))).await;
    assert_eq!(stolen.message()["error"]["code"], -32002, "{stolen:#?}");
}

#[tokio::test]
async fn with_short_names_tools_are_called_as_their_sources_call_them_and_by_full_names_too() {
    let dir = app("serve: {short_names: true}", GRANTED);
    let served = Served::start(&dir, &[]).await;
    let list = served.modern(&[], "tools/list", json!({})).await;
    assert_eq!(names(&list), ["run_parallel", "read_result", "greet_many", "say_hello", "status", "ask"]);
    for name in ["say_hello", "hello__say_hello", "hello.say_hello"] {
        let call = json!({"name": name, "arguments": {"name": "Ada"}});
        let called = served.modern(&[], "tools/call", call).await;
        assert_eq!(called["result"]["content"][0]["text"], "Hello, Ada!", "{called:#}");
    }
}
