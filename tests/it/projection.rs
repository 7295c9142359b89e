//! Projections of results: the tokens that they save, and the ways to ask for one.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};
use toolcrib::prompt::Tokenizer;
use toolcrib::results::{Projections, Results, TokenCounter};
use toolcrib_model::ToolResult;
use toolcrib_port::CallContext;

use crate::support::{TestDir, repository};

/// Set to write the table instead of comparing it.
const BLESS: &str = "TOOLCRIB_BLESS";

/// The line before the table in the page of results.
const BEGIN: &str = "<!-- The table is written by the test of recorded results. -->\n\n";

#[tokio::test]
async fn the_page_of_results_says_how_many_tokens_projections_save_on_recorded_results() {
    // Results of real MCP servers, and responses of real APIs in their OpenAPI documents.
    let recorded: Vec<Value> = serde_json::from_str(include_str!("projection/results.json")).unwrap();
    assert_eq!(recorded.len(), 30);
    let results = Results::default().with_counter(TokenCounter::new(|text| Tokenizer::O200k.count(text)));
    let mut table =
        String::from("| source | tool | `project` | tokens | left | saved |\n|---|---|---|---|---|---|\n");
    let (mut all, mut left) = (0, 0);
    for mut record in recorded {
        let [source, tool, project] =
            ["source", "tool", "project"].map(|key| record[key].as_str().unwrap().to_owned());
        let projections = Projections { of_caller: Some(&project), ..Projections::default() };
        let result = ToolResult::ok(None, format!("recorded::{tool}"), record["result"].take());
        let result = results.project(result, projections, None, &CallContext::new("s")).await;
        let (before, after) = result.projected().unwrap_or_else(|| panic!("{project}: {}", result.result));
        let project = project.replace('|', "\\|");
        let saved = percent(before, after);
        let _ = writeln!(table, "| {source} | `{tool}` | `{project}` | {before} | {after} | {saved} |");
        all += before;
        left += after;
    }
    let _ = writeln!(table, "| all | | | {all} | {left} | {} |", percent(all, left));
    assert!(left * 4 < all, "the projections save three quarters of all tokens: {all} to {left}");
    let page = repository().join("docs/reference/results.md");
    let text = fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the page has a place for the table");
    let after = rest.split_once("\n\n").map_or("", |(_, after)| after);
    let expected = format!("{before}{BEGIN}{table}\n{after}");
    if std::env::var_os(BLESS).is_some() {
        fs::write(&page, expected).unwrap();
    } else {
        assert_eq!(text, expected, "run this test with {BLESS}=1");
    }
}

fn percent(before: u64, after: u64) -> String {
    format!("{} %", before.saturating_sub(after) * 100 / before.max(1))
}

/// A dir whose tool answers with its argument.
fn dir(shape: &str) -> TestDir {
    let app = format!(
        "
audit: {{path: audit.jsonl}}
tools:
  {shape}
  registry: [{{type: file, path: tools.yaml, engine: echo}}]
  engines: {{echo: {{type: command, argv: [printf, '%s', '{{json}}']}}}}
  capabilities: {{default_policy: deny, grant: [{{module: context_builder}}, {{module: shop, actions: [rows]}}]}}
"
    );
    let parameters = "parameters: {type: object, properties: {json: {type: string}}, required: [json]}";
    let tools = format!("shop:\n  - {{name: rows, {parameters}}}\n  - {{name: secret, {parameters}}}\n");
    TestDir::with_app(&app).with_file("tools.yaml", tools)
}

async fn call(dir: &TestDir, name: &str, arguments: Value) -> Value {
    dir.run(["call", "app.yaml", name, &arguments.to_string(), "--json"]).await.expect(0).json()["result"]
        .clone()
}

#[tokio::test]
async fn each_way_to_a_tool_takes_an_expression_for_its_result() {
    let dir = dir("");
    let rows = json!({"json": r#"{"rows": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]}"#});
    let inner = json!({"name": "shop.rows", "params": rows, "project": "$.rows[*].id"});
    assert_eq!(call(&dir, "execute_tool", inner.clone()).await, json!([1, 2]));
    let outer = json!({"name": "execute_tool", "params": {"name": "shop.rows", "params": rows}, "project": ".rows | length"});
    assert_eq!(call(&dir, "execute_tool", outer).await, 2);
    let both = json!({"calls": [inner, {"name": "shop.rows", "params": rows}]});
    let both = call(&dir, "run_parallel", both).await;
    assert_eq!(both["results"][0]["result"], json!([1, 2]), "{both}");
    assert!(both["results"][1]["result"].to_string().contains("name"), "{both}");
    let denied = json!({"calls": [{"name": "shop.secret", "params": rows, "project": "$"}]});
    let denied = call(&dir, "run_parallel", denied).await;
    assert_eq!(denied["results"][0]["error"]["kind"], "denied", "{denied}");
    let wrong = json!({"name": "shop.rows", "params": rows, "project": "$.row[*].id"});
    let wrong = call(&dir, "execute_tool", wrong).await;
    assert!(wrong["structure"].as_str().unwrap().contains("rows: [2 × {id: int"), "{wrong}");
    assert!(dir.read("audit.jsonl").contains("\"saved_tokens\":"), "{}", dir.read("audit.jsonl"));
}

#[tokio::test]
async fn a_shape_projects_every_result_and_no_caller_gets_more() {
    let dir = dir("shape: [{tool: shop.rows, project: '$.rows[*].id'}]");
    let rows = json!({"json": r#"{"rows": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]}"#});
    assert_eq!(call(&dir, "shop.rows", rows.clone()).await, json!([1, 2]));
    let more = json!({"name": "shop.rows", "params": rows, "project": "$..name"});
    let more = call(&dir, "execute_tool", more).await;
    assert_eq!(more["structure"], "[2 × int 1..2]", "{more}");
    let outcome = dir.run(["call", "app.yaml", "shop.rows", "{\"json\": \"name a\"}", "--json"]).await;
    assert!(!outcome.report().contains("name a"), "{}", outcome.report());
}

#[tokio::test]
async fn an_expression_of_a_shape_that_cannot_be_read_is_an_error_of_the_app() {
    let dir = dir("shape: [{tool: shop.rows, project: '.rows | lenght'}]");
    let outcome = dir.run(["validate", "app.yaml"]).await;
    assert!(
        outcome.report().contains("`jq` has no filter `lenght` here, did you mean `length`?"),
        "{}",
        outcome.report()
    );
}
