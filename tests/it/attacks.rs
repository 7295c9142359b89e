//! What a model, a client or a file may try to get past the gate, with the real binary.

use serde_json::{Value, json};
use toolcrib_testkit::{ModelServer, Turn};

use crate::support::TestDir;

const APP: &str = r#"
agents:
  - {id: clerk, brain: {provider: openai, model: m, base_url: "${MODEL_URL:-http://127.0.0.1:9/v1}"}}
tools:
  registry: [{type: file, path: tools.yaml, engine: shop}]
  engines: {shop: {type: command, argv: [sh, -c, 'echo ran >> ran.txt', sh]}}
  capabilities:
    default_policy: deny
    grant: [{module: context_builder}, {module: shop, actions: [look]}]
    approve: [{module: shop, actions: [sell, open]}]
"#;

const TOOLS: &str = "
shop:
  - {name: look, description: Looks., parameters: {properties: {item: {type: string}, note: {type: object}}}}
  - {name: sell, description: Sells., parameters: {properties: {item: {type: string}}}}
  - {name: open, description: Takes anything., parameters: {type: object, additionalProperties: true}}
  - {name: drop, description: Forbidden.}
";

fn dir() -> TestDir {
    TestDir::with_app(APP).with_file("tools.yaml", TOOLS).with_variable("OPENAI_API_KEY", "test")
}

fn run_count(dir: &TestDir) -> usize {
    std::fs::read_to_string(dir.path("ran.txt")).map_or(0, |text| text.lines().count())
}

/// A value with a flag at this depth, among lists and objects.
fn buried(flag: &str, depth: usize) -> Value {
    let flagged = json!({flag: true, flag.to_uppercase(): "yes"});
    (0..depth).fold(flagged, |inside, level| {
        if level % 2 == 0 {
            json!({"params": inside, flag: true})
        } else {
            json!({"arguments": [inside], flag: 1})
        }
    })
}

#[tokio::test]
async fn a_flag_at_any_depth_of_a_tool_that_takes_anything_approves_nothing() {
    let dir = dir();
    for flag in ["_approved", "approved", "consent", "approval", "session_id", "__toolcrib"] {
        for depth in [0, 1, 2, 7, 40] {
            let arguments = buried(flag, depth);
            let call = json!({"name": "shop.open", "params": arguments, flag: true});
            dir.run(["call", "app.yaml", "shop.open", &arguments.to_string()]).await;
            dir.run(["call", "app.yaml", "execute_tool", &call.to_string()]).await;
            assert_eq!(run_count(&dir), 0, "{flag} at depth {depth}");
        }
    }
    dir.run(["call", "app.yaml", "shop.open", "{\"_approved\": false}", "--yes"]).await.expect(0);
    assert_eq!(run_count(&dir), 1, "it runs when a person says so");
}

#[tokio::test]
async fn names_of_arguments_that_readers_could_take_for_one_another_are_refused() {
    let dir = dir();
    for arguments in [
        r#"{"item": "lamp", "item": "safe"}"#,
        r#"{"item": "lamp", "Item": "safe"}"#,
        r#"{"item": "lamp", "ITEM": "safe"}"#,
        r#"{"item": "lamp", "item\u0000": "safe"}"#,
        r#"{"item\u0000": "safe"}"#,
        r#"{"item\u200b": "safe"}"#,
        r#"{"\u0456tem": "safe"}"#,
        r#"{"item": "lamp", "note": {"a": 1, "a": 2}}"#,
        r#"{"item": "lamp", "note": {"a\u0000": 1}}"#,
        r#"{"item": 1e400}"#,
        r#"{"item": "\ud800"}"#,
    ] {
        dir.run(["call", "app.yaml", "shop.look", arguments]).await.expect(2);
        assert_eq!(run_count(&dir), 0, "{arguments}");
    }
    dir.run(["call", "app.yaml", "shop.look", r#"{"item": "lamp"}"#]).await.expect(0);
    assert_eq!(run_count(&dir), 1);
}

#[tokio::test]
async fn a_model_that_writes_such_names_is_refused_too() {
    for arguments in [
        r#"{"item": "lamp", "item": "safe"}"#,
        r#"{"item": "lamp", "Item": "safe"}"#,
        r#"{"item": "lamp", "item\u0000": "safe"}"#,
    ] {
        let turns = [Turn::raw_call("shop__look", arguments), Turn::text("Done.")];
        let server = ModelServer::start(turns).await.unwrap();
        let dir = dir().with_variable("MODEL_URL", server.base_url());
        let report = dir.run(["run", "app.yaml", "Look.", "--json"]).await.expect(0).json();
        assert_eq!(run_count(&dir), 0, "{arguments}: {report:#}");
        assert_eq!(report["calls"][0]["ok"], false, "{report:#}");
    }
}

#[tokio::test]
async fn a_name_that_only_looks_like_that_of_a_tool_is_no_name_of_it() {
    let dir = dir();
    // With Cyrillic letters, a zero-width space, a soft hyphen, full-width letters, another case, a NUL.
    let names = [
        "sh\u{43e}p.look",
        "shop.l\u{43e}ok",
        "shop.lo\u{200b}ok",
        "shop.lo\u{ad}ok",
        "shop.\u{ff4c}ook",
        "shop.lookk",
        "shop..look",
        "shop.look.",
        "shop.look\u{1}",
    ];
    for name in names {
        dir.run(["call", "app.yaml", name, "{}"]).await;
        let call = json!({"name": name, "params": {}}).to_string();
        dir.run(["call", "app.yaml", "execute_tool", &call]).await;
        assert_eq!(run_count(&dir), 0, "{name:?}");
    }
}

#[tokio::test]
async fn a_file_cannot_bring_a_tool_whose_name_hides_something() {
    for name in
        ["look\\u200b", "lo\\u00adok", "look\\u202e", "look\\u0000", "a::b::c", "", "execute_tool\\u2060"]
    {
        let tools = format!("{{\"shop\": [{{\"name\": \"{name}\"}}, {{\"name\": \"fine\"}}]}}");
        let dir = dir().with_file("tools.yaml", tools);
        let loaded = dir.run(["load", "--file", "tools.yaml", "--json"]).await.json();
        assert_eq!(loaded["rejected"].as_array().unwrap().len(), 1, "{name}: {loaded:#}");
        assert_eq!(loaded["tools"].as_array().unwrap().len(), 1, "{name}: {loaded:#}");
    }
}

#[tokio::test]
async fn a_tool_that_is_denied_is_named_nowhere() {
    let dir = dir();
    let outputs = [
        dir.run(["search", "app.yaml", "forbidden drop", "--json"]).await.report(),
        dir.run(["plan", "app.yaml", "--json"]).await.report(),
        dir.run(["call", "app.yaml", "shop.dropp", "{}", "--json"]).await.report(),
        dir.run(["call", "app.yaml", "browse_category", r#"{"category": "shop"}"#]).await.report(),
        dir.run(["call", "app.yaml", "list_categories", "{}"]).await.report(),
        dir.run(["call", "app.yaml", "search_tools", r#"{"query": "forbidden"}"#]).await.report(),
    ];
    for output in outputs {
        assert!(!output.contains("shop.drop\"") && !output.contains("`shop.drop`"), "{output}");
        assert!(!output.contains("Forbidden."), "{output}");
    }
}
