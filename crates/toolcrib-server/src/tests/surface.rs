//! What a client is shown and told, and what it costs.

use serde_json::{Value, json};
use toolcrib_prompt::Tokenizer;

use super::{Client, serve};

/// What the list of tools may cost where most tools have to be found.
const MAX_LISTED_TOKENS: u32 = 900;

/// Everything that an app can turn on.
const EVERYTHING: &str = "
modules: {hello: {}, memory: {}, scheduler: {}}
execution: {watchers: true}
tools: {capabilities: {default_policy: grant, grant: [{module: context_builder, actions: [ask_user]}]}}
serve: {surface: discovery}
";

impl Client {
    async fn listed(&mut self) -> Vec<Value> {
        let answer = self.request("tools/list", json!({})).await;
        answer["result"]["tools"].as_array().unwrap().clone()
    }

    /// Calls a tool, and returns the text of its result.
    async fn call(&mut self, name: &str, arguments: Value) -> String {
        let answer = self.request("tools/call", json!({"name": name, "arguments": arguments})).await;
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_list_costs_at_most_900_tokens_in_discovery_whatever_the_app_turns_on() {
    let (mut client, ..) = serve(EVERYTHING).await;
    let tools = client.listed().await;
    insta::assert_snapshot!(names(&tools).join(" "), @"search_tools get_tool execute_tool run_parallel list_categories browse_category read_result background_run");
    let tokens: u32 = tools.iter().map(|tool| Tokenizer::O200k.count(&tool.to_string())).sum();
    assert!(tokens <= MAX_LISTED_TOKENS, "{tokens}: {tools:#?}");
}

#[tokio::test]
async fn a_tool_of_the_runtime_that_is_not_listed_is_found_and_called_by_its_bare_name() {
    let (mut client, ..) = serve(EVERYTHING).await;
    for (query, name) in [
        ("watch a tool for changes", "watch_start"),
        ("ask the user", "ask_user"),
        ("schedule a recurring task", "scheduler.schedule_cron"),
    ] {
        let found = client.call("search_tools", json!({"query": query})).await;
        assert!(found.contains(name) && !found.contains("context_builder"), "{query}: {found}");
    }
    let ran = client.call("execute_tool", json!({"name": "watch_list", "params": {}})).await;
    assert_eq!(ran, r#"{"watchers":[]}"#);
}

#[tokio::test]
async fn instructions_and_list_stay_the_same_bytes_while_tools_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tools.yaml");
    let write = |count: usize| {
        let tools = (0..count).map(|n| format!("  - {{name: tool_{n}, description: Does a thing.}}\n"));
        std::fs::write(&path, format!("shop:\n{}", tools.collect::<String>())).unwrap();
    };
    write(2);
    let app = format!(
        "tools: {{registry: [{{type: file, path: '{}'}}]}}\nserve: {{surface: discovery}}",
        path.display()
    );
    let (mut client, _server, runtime, instructions) = serve(&app).await;
    insta::assert_snapshot!(instructions);
    let before = client.listed().await;
    write(40);
    runtime.executor().registry().refresh().await.unwrap();
    assert_eq!(client.listed().await, before);
    let (.., after) = serve(&app).await;
    assert_eq!(after, instructions);
}

#[tokio::test]
async fn wrong_parameters_are_told_as_such_and_unknown_methods_by_name() {
    let (mut client, ..) = serve("modules: {hello: {}}").await;
    let mut told = Vec::new();
    for (method, params) in [
        ("tools/call", json!({"name": "run_parallel", "arguments": [1]})),
        ("tools/call", json!({"arguments": {}})),
        ("tools/call", json!({"name": 7})),
        ("prompts/get", json!({"name": "a", "arguments": "b"})),
        ("resources/read", json!({})),
        ("no/such", json!({})),
    ] {
        let error = client.request(method, params).await["error"].clone();
        told.push(format!("{} {}", error["code"], error["message"].as_str().unwrap()));
    }
    insta::assert_snapshot!(told.join("\n"));
}

#[tokio::test]
async fn each_tool_says_whether_it_only_reads() {
    let (mut client, ..) = serve(&EVERYTHING.replace("discovery", "direct")).await;
    let tools = client.listed().await;
    let hints = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{name}"));
        (tool["annotations"]["readOnlyHint"] == true, tool["annotations"]["destructiveHint"] == true)
    };
    for name in ["watch_list", "watch_status", "watch_history", "scheduler__schedule_list", "memory__recall"]
    {
        assert_eq!(hints(name), (true, false), "{name}");
    }
    for name in ["watch_stop", "memory__set_goal", "memory__set_tasks", "memory__update_task"] {
        assert_eq!(hints(name), (false, false), "{name}");
    }
    // Whatever they call later, they say.
    for name in ["watch_start", "scheduler__schedule_once", "scheduler__remind", "background_run"] {
        assert_eq!(hints(name), (false, true), "{name}");
    }
}

#[tokio::test]
async fn a_title_stands_at_the_tool_and_in_its_annotations() {
    let tool =
        "{type: inline, namespace: shop, tools: [{name: price, description: Finds a price., title: Price}]}";
    let (mut client, ..) = serve(&format!("tools: {{registry: [{tool}]}}")).await;
    let tools = client.listed().await;
    let price = tools.iter().find(|tool| tool["name"] == "shop__price").unwrap();
    assert_eq!((&price["title"], &price["annotations"]["title"]), (&json!("Price"), &json!("Price")));
}

#[tokio::test]
async fn a_search_says_by_which_tool_each_hit_is_called_where_calls_are_split() {
    let tools = "[{name: price, description: Finds the price of a lamp., risk: low}, \
                  {name: order, description: Orders a lamp.}, {name: drop, description: Drops a lamp., risk: high}]";
    let app = format!(
        "tools: {{registry: [{{type: inline, namespace: shop, tools: {tools}}}]}}\n\
         serve: {{surface: discovery, split_execute: true}}"
    );
    let (mut client, _server, _, instructions) = serve(&app).await;
    assert!(instructions.contains("Each result says which of `execute_read`"), "{instructions}");
    let found = client.call("search_tools", json!({"query": "lamp"})).await;
    let found: Value = serde_json::from_str(&found).unwrap();
    let hits = found["results"].as_array().unwrap().iter().map(Value::to_string).collect::<Vec<_>>();
    for (name, by) in [("price", "read"), ("order", "write"), ("drop", "destructive")] {
        let hit = hits
            .iter()
            .find(|hit| hit.contains(&format!("shop.{name}")))
            .unwrap_or_else(|| panic!("{found}"));
        assert!(hit.contains(&format!("execute_{by}")), "{hit}");
    }
}
