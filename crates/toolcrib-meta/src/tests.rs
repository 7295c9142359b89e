//! What discovery promises.

mod liberal;
mod load;
mod searches;
mod shown;
mod signatures;
mod types;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, QualifiedName, Tool, ToolCall, ToolResult};
use toolcrib_policy::{Authorized, Call, Policy, Principal};
use toolcrib_port::{CallContext, LoadOutcome, ToolEngine, ToolLoader};
use toolcrib_registry::enrichment::SuppliersEnrichment;
use toolcrib_registry::{Enrichment, ToolRegistry};
use toolcrib_search::SearchOptions;

use crate::{Discovery, module};

struct Files;

#[async_trait]
impl ToolLoader for Files {
    fn source(&self) -> &'static str {
        "files"
    }

    async fn load(&self) -> LoadOutcome {
        let schema =
            json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
        let tool = |namespace: &str, name: &str, description: &str| {
            Tool::new(QualifiedName::new(namespace, name).unwrap())
                .with_description(description)
                .with_parameters(schema.clone())
        };
        let path = json!({"type": "object", "properties": {"path": {"type": "string"}}});
        let tools = vec![
            tool("files", "read", "Reads a text file."),
            tool("files", "find", "Finds a file.").with_output_parameters(path.clone()),
            tool("vault", "find_secret", "Finds a secret.").with_output_parameters(path),
            tool("files", "remove", "Removes a file."),
            tool("vault", "read_secret", "Reads a secret file."),
            tool("weather", "forecast", "The weather of the coming days.")
                .with_risk(toolcrib_model::Risk::Low),
        ];
        LoadOutcome { tools, rejected: vec![] }
    }
}

#[async_trait]
impl ToolEngine for Files {
    async fn invoke(&self, call: &Authorized<Call>, _context: &CallContext) -> ToolResult {
        call.ok(call.arguments.clone())
    }
}

struct Fixture {
    discovery: Arc<Discovery>,
    executor: Arc<toolcrib_exec::Executor>,
}

async fn fixture() -> Fixture {
    fixture_with(Vec::new()).await
}

async fn fixture_with_scripts() -> Fixture {
    fixture_of(Vec::new(), true).await
}

async fn fixture_with(sources: Vec<Arc<dyn ToolLoader>>) -> Fixture {
    fixture_of(sources, false).await
}

async fn fixture_of(sources: Vec<Arc<dyn ToolLoader>>, has_scripts: bool) -> Fixture {
    let capabilities = json!({"default_policy": "grant", "deny": [{"module": "vault"}]});
    let policy = Arc::new(Policy::new(&serde_json::from_value(capabilities).unwrap(), []).unwrap());
    let suppliers = [Arc::new(SuppliersEnrichment) as Arc<dyn Enrichment>];
    let registry = Arc::new(ToolRegistry::new().with_enrichments(suppliers).unwrap());
    let discovery =
        Arc::new(Discovery::new(&registry, policy.clone()).with_sources(sources).with_scripts(has_scripts));
    let meta = Arc::new(module(discovery.clone()));
    registry.add_loader(meta.clone());
    registry.add_loader(Arc::new(Files));
    registry.refresh().await.unwrap();
    let executor = toolcrib_exec::Executor::new(registry, policy, Arc::new(toolcrib_exec::DenyAll))
        .with_engine("files", Arc::new(Files))
        .with_engine(meta.source().to_owned(), meta);
    Fixture { discovery, executor: Arc::new(executor) }
}

impl Fixture {
    async fn call(&self, name: &str, arguments: Value) -> ToolResult {
        let call = ToolCall::new(name, arguments.as_object().unwrap().clone()).with_call_id("c");
        self.executor.call(call, &CallContext::new("s")).await
    }
}

#[tokio::test]
async fn a_model_finds_inspects_and_runs_a_tool() {
    let fixture = fixture().await;
    let found = fixture.call("search_tools", json!({"query": "read a text file", "max_results": 1})).await;
    insta::assert_json_snapshot!(found.result);
    let card = fixture.call("get_tool", json!({"name": "files.read"})).await;
    insta::assert_json_snapshot!(card.result);
    let ran = fixture.call("execute_tool", json!({"name": "files.read", "params": {"path": "a"}})).await;
    assert_eq!((ran.name.as_str(), &ran.result), ("files::read", &json!({"path": "a"})));
    assert_eq!(ran.call_id.as_deref(), Some("c"));
    assert_eq!(ran.metadata["rule"], "default_policy");
}

#[tokio::test]
async fn the_call_inside_is_gated_and_validated_like_any_other() {
    let fixture = fixture().await;
    for (name, params, kind) in [
        ("vault.read_secret", json!({"path": "a"}), ErrorKind::Denied),
        ("files.read", json!({"paht": "a"}), ErrorKind::InvalidArgs),
        ("files.raed", json!({}), ErrorKind::UnknownTool),
    ] {
        let mut arguments = json!({"name": name, "params": params});
        for _ in 0..3 {
            let result = fixture.call("execute_tool", arguments.clone()).await;
            assert_eq!(result.error.map(|error| error.kind), Some(kind), "{arguments}");
            arguments = json!({"name": "context_builder.execute_tool", "params": arguments});
        }
    }
}

#[tokio::test]
async fn calls_in_parallel_have_a_row_each_in_their_order_and_fail_alone() {
    let fixture = fixture().await;
    let read = |path: &str| json!({"name": "files.read", "params": {"path": path}});
    let calls = json!([read("a"), {"name": "vault.read_secret"}, {"name": "files.read"}, {"name": "none.such"}, read("b")]);
    let ran = fixture.call("run_parallel", json!({"calls": calls})).await;
    let told: Vec<_> = ran.result["results"].as_array().unwrap().iter().collect();
    let kinds: Vec<_> = told.iter().map(|row| row["error"]["kind"].as_str().unwrap_or("ok")).collect();
    assert_eq!(kinds, ["ok", "denied", "invalid_args", "unknown_tool", "ok"]);
    assert_eq!((&told[0]["result"]["path"], &told[4]["result"]["path"]), (&json!("a"), &json!("b")));
    assert_eq!((&ran.result["succeeded"], &ran.result["failed"]), (&json!(2), &json!(3)));
}

#[tokio::test]
async fn as_many_calls_run_in_parallel_as_are_allowed_and_none_of_them_starts_others() {
    let fixture = fixture().await;
    let calls =
        |count: usize| json!({"calls": vec![json!({"name": "files.read", "params": {"path": "a"}}); count]});
    for (count, is_taken) in [(0, false), (1, true), (50, true), (51, false)] {
        let ran = fixture.call("run_parallel", calls(count)).await;
        assert_eq!(ran.is_ok(), is_taken, "{count}: {ran:?}");
    }
    let inner = json!({"name": "run_parallel", "params": calls(1)});
    for nested in [inner.clone(), json!({"name": "execute_tool", "params": inner})] {
        let ran = fixture.call("run_parallel", json!({"calls": [nested]})).await;
        let error = &ran.result["results"][0]["error"];
        assert_eq!(
            error["message"], "calls that run in parallel may not start others in parallel",
            "{ran:?}"
        );
    }
}

#[tokio::test]
async fn a_model_is_told_which_arguments_its_user_changed_among_several_calls() {
    let row = super::tools::parallel_row(
        ToolResult::ok(None, "notes::write", json!("written"))
            .with_metadata("edited_arguments", json!({"a": 1})),
    );
    assert_eq!(
        row,
        json!({"name": "notes.write", "ok": true, "result": "written", "facts": "[The user changed the arguments before it ran, to {\"a\":1}]"})
    );
}

#[tokio::test]
async fn a_denied_tool_is_invisible_everywhere() {
    let fixture = fixture().await;
    for (name, arguments) in [
        ("search_tools", json!({"query": "vault.read_secret"})),
        ("search_tools", json!({"query": "read secret", "max_results": 20})),
        ("get_tool", json!({"name": "read_secrets"})),
        // Its argument could come from a tool of the vault.
        ("get_tool", json!({"name": "files.read"})),
        ("list_categories", json!({})),
        ("browse_category", json!({"category": "nothing"})),
        ("execute_tool", json!({"name": "read_secre"})),
    ] {
        let result = fixture.call(name, arguments.clone()).await;
        let text = serde_json::to_string(&result).unwrap();
        let echoed = arguments.to_string();
        for word in ["vault", "read_secret"] {
            let allowed = echoed.matches(word).count().min(1);
            assert!(text.matches(word).count() <= allowed, "{name} {arguments}: {text}");
        }
    }
    assert_eq!(
        fixture.discovery.describe("vault.read_secret", "s".into()).unwrap_err().kind,
        ErrorKind::Denied
    );
}

#[tokio::test]
async fn categories_are_counted_and_browsed_by_page() {
    let fixture = fixture().await;
    let categories = fixture.discovery.categories("s".into()).unwrap();
    let counts: Vec<_> =
        categories.iter().map(|category| (category.category.as_str(), category.tools)).collect();
    assert_eq!(counts, [("files", 3), ("weather", 1)]);
    let browse =
        |category, page| fixture.discovery.browse(category, page, 1, "s".into()).map(|(_, page)| page);
    let page = browse("files", 2).unwrap();
    assert_eq!((page.page, page.pages, page.total), (2, 3, 3));
    assert_eq!(page.items, ["files.read(path: str) — Reads a text file."]);
    assert!(browse("files", usize::MAX).unwrap().items.is_empty());
    let error = browse("file", 1).unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean `files`?"));
}

#[tokio::test]
async fn lists_come_by_page_and_tell_each_tool_as_its_signature() {
    let fixture = fixture().await;
    let page = fixture.call("browse_category", json!({"category": "files", "page_size": 1, "page": 2})).await;
    let told = [fixture.call("list_categories", json!({})).await.result, page.result];
    insta::assert_json_snapshot!(told);
}

/// A source that says something of itself.
struct Talking;

#[async_trait]
impl ToolLoader for Talking {
    fn source(&self) -> &'static str {
        "mcp files"
    }

    fn exclusive_namespace(&self) -> Option<&str> {
        Some("files")
    }

    async fn load(&self) -> LoadOutcome {
        LoadOutcome::default()
    }

    fn about(&self) -> Option<String> {
        Some("Files: those of the team".into())
    }

    fn instructions(&self) -> Option<String> {
        Some(format!("Find before you read.{}", " x".repeat(1_000)))
    }
}

#[tokio::test]
async fn what_a_source_says_comes_with_its_category_and_once_in_a_session_with_its_first_hit() {
    let fixture = fixture_with(vec![Arc::new(Talking)]).await;
    let note = |result: &ToolResult| result.result["external_notes"]["files"].as_str().map(str::to_owned);
    let search = async || fixture.call("search_tools", json!({"query": "read a text file"})).await;
    let first = note(&search().await).unwrap();
    assert!(
        first.starts_with("Find before you read.")
            && first.chars().count() <= crate::source_notes::MAX_SOURCE_NOTE + 1
    );
    assert_eq!(note(&search().await), None);
    let as_agent = CallContext::new("another").with_agent("a");
    let query = json!({"query": "read a text file"}).as_object().unwrap().clone();
    let found = fixture.executor.call(ToolCall::new("search_tools", query), &as_agent).await;
    assert_eq!(note(&found), None, "an agent has it in its prompt");
    let listed = fixture.call("list_categories", json!({})).await.result;
    assert_eq!(listed["categories"][0]["description"], "Files: those of the team");
    let page =
        async |page: u32| fixture.call("browse_category", json!({"category": "files", "page": page})).await;
    assert_eq!((note(&page(1).await), note(&page(2).await)), (Some(first), None));
}

#[tokio::test]
async fn nothing_similar_is_an_answer_with_a_reason() {
    let result = fixture().await.call("search_tools", json!({"query": "zzxqy"})).await;
    assert!(result.is_ok());
    assert_eq!(result.result["outcome"], "no_match");
    assert_eq!(result.result["reason"], "nothing_similar");
}

#[tokio::test]
async fn a_refresh_renews_the_index() {
    let policy = Arc::new(Policy::new(&serde_json::from_value(json!({})).unwrap(), []).unwrap());
    let registry = Arc::new(ToolRegistry::new());
    let discovery = Discovery::new(&registry, policy);
    assert_eq!(discovery.search("forecast", 5, "s".into()).unwrap().outcome, "no_match");
    registry.add_loader(Arc::new(Files));
    registry.refresh().await.unwrap();
    assert_eq!(discovery.search("forecast", 5, "s".into()).unwrap().results[0].name, "weather.forecast");
}

#[tokio::test]
async fn a_model_is_not_told_that_a_tool_is_there_which_it_may_not_use() {
    let fixture = fixture().await;
    let told = fixture.call("search_tools", json!({"query": "secret"})).await.result;
    let nothing = fixture.call("search_tools", json!({"query": "zzxqy"})).await.result;
    assert_eq!((&told["outcome"], &told["reason"]), (&json!("no_match"), &json!("nothing_similar")));
    assert_eq!(told["hint"], nothing["hint"]);
    // An operator is.
    let found = fixture.discovery.search("secret", 5, "s".into()).unwrap();
    assert_eq!((found.reason, found.withheld > 0), (Some("not_permitted"), true));
}

#[tokio::test]
async fn what_is_far_below_the_best_is_not_shown() {
    let fixture = fixture().await;
    let discovery = &fixture.discovery;
    let query = "the weather of the coming days, in a file";
    let is_visible = |name: &QualifiedName| name.namespace() != "vault";
    let mut options = SearchOptions::new(5);
    options.filter = Some(&is_visible);
    let all = discovery.index.get("s").unwrap().search.search(query, &options).hits;
    let shown = discovery.search(query, 5, "s".into()).unwrap().results;
    assert_eq!(shown[0].name, "weather.forecast");
    assert!(shown.len() < all.len(), "{all:?}");
    let near = discovery.search("a text file", 5, "s".into()).unwrap().results;
    assert!(near.len() > 1, "{near:?}");
}

#[tokio::test]
async fn each_overload_keeps_its_own_description_and_tells_which_patterns_are_not_checked() {
    let tool = |description: &str, argument: &str, pattern: &str| {
        let schema =
            json!({"type": "object", "properties": {argument: {"type": "string", "pattern": pattern}}});
        Tool::new(QualifiedName::new("files", "open").unwrap())
            .with_description(description)
            .with_parameters(schema)
    };
    let tools = [
        tool("Opens a file by its path.", "path", "^[a-z]+$"),
        tool("Opens a file by its number.", "number", "^(?!0)[0-9]+$"),
        tool("Opens a file by its path.", "uri", "^[a-z]+$"),
    ];
    let registry = Arc::new(ToolRegistry::from_tools("test", tools).unwrap());
    let capabilities = serde_json::from_value(json!({"default_policy": "grant"})).unwrap();
    let policy = Arc::new(Policy::new(&capabilities, []).unwrap());
    let snapshot = registry.snapshot();
    let overloads = snapshot.find("files.open", |_| true).unwrap();
    let card = crate::ToolCard::new(&overloads, &snapshot, &policy, Principal::new("s")).unwrap();
    assert_eq!(card.description, "Opens a file by its path.");
    let told: Vec<_> = card.forms.iter().map(|form| form.description.as_deref()).collect();
    assert_eq!(told, [None, Some("Opens a file by its number."), None]);
    let unchecked: Vec<_> = card.forms.iter().map(|form| form.unchecked.len()).collect();
    assert_eq!(unchecked, [0, 1, 0]);
    assert!(card.forms[1].unchecked[0].contains("`^(?!0)[0-9]+$` at `/properties/number` is not checked"));
}
