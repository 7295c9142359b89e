//! What discovery costs with hundreds of tools of others, in tokens.

pub(crate) mod forms;
mod list_cost;
mod search_cost;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};
use tiktoken_rs::o200k_base_singleton;
use toolcrib_testkit::{ModelServer, Turn};

use crate::support::{TestDir, shared};

/// The data set, in the folder of those that are shared.
const DATA: &str = "data/retrieval/bfcl";

/// How many tools are there.
const TOOLS: usize = 527;

/// The maximum cost of the tools that a client of the server lists, in tokens.
const MAX_BEFORE: u64 = 900;

/// The maximum cost of the system prompt and the tools of an agent, in tokens.
const MAX_PROMPT: u64 = 900;

/// What a search and one tool that is looked at may cost more.
const MAX_SEARCH: u64 = 900;

/// How many queries are asked of each selection.
const QUERIES: usize = 12;

/// What a message costs beside its text: the usual figure for the role and the marks around it.
const TOKENS_PER_MESSAGE: u64 = 4;

const APP: &str = r#"
agents:
  - {id: assistant, brain: {provider: openai, model: gpt-5-mini, base_url: "${MODEL_URL}"}}
tools:
  registry: [{type: file, path: tools.json, engine: nothing}]
  engines: {nothing: {type: mock}}
  capabilities: {default_policy: grant}
runtime: {tool_injection: discovery}
"#;

#[tokio::test]
async fn discovery_among_527_tools_stays_within_900_tokens_and_a_search_with_one_tool_within_900_more() {
    let Some(shared) = shared() else { return };
    let all = all_tools(&shared);
    let queries = std::fs::read_to_string(shared.join(DATA).join("queries.jsonl")).unwrap();
    let queries: Vec<Value> = queries.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // From the beginning, from the end, and from everywhere.
    let selections: [Vec<&Value>; 3] = [
        all.iter().take(TOOLS).collect(),
        all.iter().rev().take(TOOLS).collect(),
        all.iter().step_by(3).take(TOOLS).collect(),
    ];
    for (number, tools) in selections.into_iter().enumerate() {
        assert_eq!(tools.len(), TOOLS);
        let asked = asked(&tools, &queries);
        assert_eq!(asked.len(), QUERIES);
        let dir = TestDir::with_app(APP)
            .with_file("tools.json", file(&tools))
            .with_variable("OPENAI_API_KEY", "test");
        let server = ModelServer::start(turns(&asked)).await.unwrap();
        let dir = dir.with_variable("MODEL_URL", server.base_url());
        dir.run(["run", "app.yaml", "Go.", "--json"]).await.expect(0);
        let last = server.requests().last().unwrap().json().unwrap();

        let prompt = count(last["messages"][0]["content"].as_str().unwrap());
        let offered: u64 =
            last["tools"].as_array().unwrap().iter().map(|tool| count(&tool.to_string())).sum();
        assert!(prompt + offered <= MAX_PROMPT, "selection {number}: {prompt} and {offered}");

        let messages = &last["messages"].as_array().unwrap()[2..];
        let mut costs = Vec::new();
        for (messages, (query, tool)) in messages.chunks(6).zip(&asked) {
            // Nothing found is not what costs.
            if !messages[1]["content"].to_string().contains("results") {
                continue;
            }
            costs.push((messages.iter().take(4).map(tokens_of).sum::<u64>(), query, tool));
        }
        costs.sort();
        assert!(costs.len() * 2 >= QUERIES, "selection {number}: too little is found to tell");
        let (most, ..) = costs.last().unwrap();
        eprintln!(
            "{number}: {prompt} + {offered} before, then {:?}",
            costs.iter().map(|(cost, ..)| cost).collect::<Vec<_>>()
        );
        assert!(*most <= MAX_SEARCH, "{costs:#?}");
    }
}

/// All tools of the data set.
fn all_tools(shared: &Path) -> Vec<Value> {
    serde_json::from_slice(&std::fs::read(shared.join(DATA).join("tools.json")).unwrap()).unwrap()
}

/// What a tool is looked for by, what it does, and its name.
fn asked_of(tool: &Value) -> (String, String) {
    let what = text(&tool["description"]).split(". ").next().unwrap().to_owned();
    (what, format!("{}::{}", text(&tool["namespace"]), text(&tool["name"])))
}

/// Tools among these that a query of the data set is answered by, each with what it is looked for by: what it does.
fn asked(tools: &[&Value], queries: &[Value]) -> Vec<(String, String)> {
    let wanted: BTreeSet<&str> =
        queries.iter().filter_map(|query| query["relevant"].as_array()?.first()?.as_str()).collect();
    let fitting: Vec<_> =
        tools.iter().map(|tool| asked_of(tool)).filter(|(_, name)| wanted.contains(name.as_str())).collect();
    let step = fitting.len() / QUERIES;
    fitting.into_iter().step_by(step).take(QUERIES).collect()
}

/// A search, a look, and a call for each.
fn turns(asked: &[(String, String)]) -> Vec<Turn> {
    let steps = asked.iter().flat_map(|(query, tool)| {
        [
            Turn::call("search_tools", &json!({"query": query})),
            Turn::call("get_tool", &json!({"name": tool})),
            Turn::call("execute_tool", &json!({"name": tool, "params": {}})),
        ]
    });
    steps.chain([Turn::text("Done.")]).collect()
}

/// The tools as a file.
fn file(tools: &[&Value]) -> String {
    let mut namespaces = BTreeMap::<String, Vec<Value>>::new();
    for tool in tools {
        let mut entry = (*tool).clone();
        entry.as_object_mut().unwrap().shift_remove("namespace");
        namespaces.entry(text(&tool["namespace"])).or_default().push(entry);
    }
    json!(namespaces).to_string()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// What a message costs: its text, or the names and arguments of its calls.
fn tokens_of(message: &Value) -> u64 {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let calls: u64 = calls
        .map(|call| count(&text(&call["function"]["name"])) + count(&text(&call["function"]["arguments"])))
        .sum();
    TOKENS_PER_MESSAGE + count(message["content"].as_str().unwrap_or_default()) + calls
}

fn count(text: &str) -> u64 {
    o200k_base_singleton().count_ordinary(text) as u64
}
