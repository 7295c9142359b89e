//! What the entrance promises about shaped tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, JsonObject, QualifiedName, Risk, Tool, ToolCall, ToolResult};
use toolcrib_policy::{Authorized, Call, Policy, Question};
use toolcrib_port::{Answer, Approver, CallContext, LoadOutcome, ToolEngine, ToolLoader};
use toolcrib_registry::{Shapes, ToolRegistry};

use crate::audit::{Audit, MemorySink};
use crate::{Callback, DenyAll, Executor};

/// A source with one tool, which answers with the name and the arguments that it got.
struct Source {
    name: &'static str,
    tool: Tool,
    is_down: AtomicBool,
    fails: bool,
    calls: AtomicUsize,
}

#[async_trait]
impl ToolLoader for Source {
    fn source(&self) -> &str {
        self.name
    }

    async fn load(&self) -> LoadOutcome {
        LoadOutcome { tools: vec![self.tool.clone()], rejected: Vec::new() }
    }
}

#[async_trait]
impl ToolEngine for Source {
    async fn invoke(&self, call: &Authorized<Call>, _context: &CallContext) -> ToolResult {
        if self.is_down.load(Ordering::SeqCst) {
            return call.error(ErrorKind::Unavailable, "the server is down");
        }
        self.calls.fetch_add(1, Ordering::SeqCst);
        if self.fails {
            return call.error(ErrorKind::ToolFailed, "no luck");
        }
        call.ok(json!({"ran": call.tool.name.dotted(), "arguments": call.arguments}))
    }
}

fn source(name: &'static str, tool: &str, properties: &Value) -> Source {
    let (namespace, bare) = tool.split_once('.').unwrap();
    let schema = json!({"type": "object", "properties": properties});
    let tool = Tool::new(QualifiedName::new(namespace, bare).unwrap()).with_parameters(schema);
    let tool = tool.with_risk(Risk::Low);
    Source { name, tool, is_down: AtomicBool::new(false), fails: false, calls: AtomicUsize::new(0) }
}

struct Fixture {
    executor: Arc<Executor>,
    records: Arc<MemorySink>,
    first: Arc<Source>,
    second: Arc<Source>,
}

async fn fixture_with(first: Source, capabilities: Value, approver: Arc<dyn Approver>) -> Fixture {
    let second = Arc::new(source("two", "google.search", &json!({"text": {"type": "string"}})));
    let first = Arc::new(first);
    let shapes = json!([{
        "tool": "github.search",
        "name": "web.find",
        "parameters": {"q": {"name": "query"}, "owner": {"from": "user"}},
        "fallbacks": [{"tool": "google.search", "parameters": {"text": {"name": "query"}}}],
    }]);
    let shapes = Shapes::new("shapes", &serde_json::from_value::<Vec<_>>(shapes).unwrap()).unwrap();
    let loaders: [Arc<dyn ToolLoader>; 2] = [first.clone(), second.clone()];
    let registry = ToolRegistry::from_shaped_loaders(loaders, Arc::new(shapes)).await;
    assert_eq!(registry.snapshot().rejected(), []);
    let policy = Policy::new(&serde_json::from_value(capabilities).unwrap(), []).unwrap();
    let records = Arc::new(MemorySink::default());
    let executor = Executor::new(Arc::new(registry), Arc::new(policy), approver)
        .with_audit(Audit::new(records.clone()).with_values())
        .with_engine("one", first.clone())
        .with_engine("two", second.clone());
    Fixture { executor: Arc::new(executor), records, first, second }
}

async fn fixture(capabilities: Value, approver: Arc<dyn Approver>) -> Fixture {
    let properties = json!({"q": {"type": "string"}, "owner": {"type": "string"}});
    fixture_with(source("one", "github.search", &properties), capabilities, approver).await
}

impl Fixture {
    async fn call(&self, name: &str, arguments: Value) -> ToolResult {
        let call = ToolCall::new(name, arguments.as_object().unwrap().clone());
        self.executor.call(call, &CallContext::new("s").with_user("ada")).await
    }

    fn runs(&self) -> (usize, usize) {
        (self.first.calls.load(Ordering::SeqCst), self.second.calls.load(Ordering::SeqCst))
    }
}

fn granted() -> Value {
    json!({"default_policy": "deny", "grant": [{"module": "web", "actions": ["find"]}]})
}

fn with_rule(effect: &str, rule: &Value) -> Value {
    let mut capabilities = granted();
    capabilities[effect] = json!([rule]);
    capabilities
}

#[tokio::test]
async fn the_engine_gets_the_original_call_and_the_caller_the_result_of_the_shaped_tool() {
    let fixture = fixture(granted(), Arc::new(DenyAll)).await;
    let result = fixture.call("web.find", json!({"query": "x"})).await;
    assert_eq!(result.error, None);
    assert_eq!(result.name, "web::find");
    assert_eq!(result.result, json!({"ran": "github.search", "arguments": {"q": "x", "owner": "ada"}}));
    let record = fixture.records.records().pop().unwrap();
    assert_eq!(record.tool.as_deref(), Some("web::find"));
    assert_eq!(record.original.as_deref(), Some("github::search"));
    assert_eq!(record.arguments, Some(json!({"query": "x"})));
    assert_eq!(record.original_arguments, Some(json!({"q": "x", "owner": "ada"})));
}

#[tokio::test]
async fn a_dry_run_of_a_shaped_tool_names_the_calls_of_its_originals() {
    let fixture = fixture(granted(), Arc::new(DenyAll)).await;
    let call = ToolCall::new("web.find", json!({"query": "x"}).as_object().unwrap().clone());
    let run = fixture.executor.dry_run(call, &CallContext::new("s").with_user("ada"));
    let originals: Vec<_> =
        run.originals.iter().map(|(tool, arguments)| (tool.name.dotted(), json!(arguments))).collect();
    let expected = [
        ("github.search".to_owned(), json!({"q": "x", "owner": "ada"})),
        ("google.search".to_owned(), json!({"text": "x"})),
    ];
    assert_eq!(originals, expected);
    assert_eq!(fixture.runs(), (0, 0));
}

#[tokio::test]
async fn the_original_name_is_no_tool_any_more() {
    let fixture = fixture(json!({"default_policy": "grant"}), Arc::new(DenyAll)).await;
    for name in ["github.search", "google.search", "github__search", "search"] {
        let error = fixture.call(name, json!({"q": "x"})).await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::UnknownTool, "{name}");
    }
    assert_eq!(fixture.runs(), (0, 0));
}

#[tokio::test]
async fn a_rule_that_denies_each_original_denies_the_shaped_tool_and_hides_it() {
    let deny = json!({"module": "g*", "actions": ["search"]});
    let fixture = fixture(with_rule("deny", &deny), Arc::new(DenyAll)).await;
    let error = fixture.call("web.find", json!({"query": "x"})).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Denied);
    let context = CallContext::new("s");
    assert_eq!(fixture.executor.tool_caller().catalogue().visible_tools(&context), []);
    assert_eq!(fixture.runs(), (0, 0));
}

#[tokio::test]
async fn a_rule_that_denies_one_original_leaves_the_others() {
    let fixture = fixture(with_rule("deny", &json!({"module": "github"})), Arc::new(DenyAll)).await;
    let result = fixture.call("web.find", json!({"query": "x"})).await;
    assert_eq!(result.result, json!({"ran": "google.search", "arguments": {"text": "x"}}));
    assert_eq!(fixture.records.records().pop().unwrap().original.as_deref(), Some("google::search"));
}

#[tokio::test]
async fn a_condition_on_arguments_of_the_original_holds_for_the_values_that_a_shape_adds() {
    let rule = json!({"module": "github", "arguments": [{"path": "/owner", "equals": "ada"}]});
    let other = json!({"module": "google"});
    let mut capabilities = with_rule("deny", &rule);
    capabilities["deny"].as_array_mut().unwrap().push(other);
    let fixture = fixture(capabilities, Arc::new(DenyAll)).await;
    let error = fixture.call("web.find", json!({"query": "x"})).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Denied);
    assert_eq!(fixture.runs(), (0, 0));
}

#[tokio::test]
async fn a_rule_that_asks_about_the_original_asks_about_the_shaped_tool() {
    let asks = with_rule("approve", &json!({"module": "github"}));
    let fixture = fixture(asks, Arc::new(DenyAll)).await;
    let error = fixture.call("web.find", json!({"query": "x"})).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::ApprovalRequired);
    assert_eq!(fixture.runs(), (0, 0));
}

#[tokio::test]
async fn a_person_reads_what_the_shape_adds_and_edits_the_shaped_arguments() {
    let seen: Arc<Mutex<Option<Question>>> = Arc::default();
    let asked = Arc::clone(&seen);
    let approver = Callback::new(move |question: Question| {
        let edited = JsonObject::from_iter([("query".to_owned(), json!("y"))]);
        let answer = Answer::Approved(question.approve_edited(edited));
        *asked.lock() = Some(question);
        async move { answer }
    });
    let capabilities = json!({"default_policy": "approve"});
    let fixture = fixture(capabilities, Arc::new(approver)).await;
    let result = fixture.call("web.find", json!({"query": "x"})).await;
    assert_eq!(result.result, json!({"ran": "github.search", "arguments": {"q": "y", "owner": "ada"}}));
    let question = seen.lock().take().unwrap();
    assert_eq!((question.tool.as_str(), &question.arguments["query"]), ("web.find", &json!("x")));
    insta::assert_snapshot!(question.description, @"Calls `github.search` with `owner` = \"ada\", or `google.search` if it is unavailable.");
}

#[tokio::test]
async fn a_caller_without_the_attribute_of_a_shape_is_refused() {
    let fixture = fixture(granted(), Arc::new(DenyAll)).await;
    let call = ToolCall::new("web.find", JsonObject::from_iter([("query".to_owned(), json!("x"))]));
    let error = fixture.executor.call(call, &CallContext::new("s")).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Denied);
    insta::assert_snapshot!(error.to_string(), @"denied: `web.find` (a shape of `github.search`) cannot be called here: the caller has no `user`, which is the value of `owner` (no argument sets it; tell the user)");
    assert_eq!(fixture.runs(), (0, 0));
}

#[tokio::test]
async fn wrong_arguments_name_both_tools() {
    let fixture = fixture(granted(), Arc::new(DenyAll)).await;
    let error = fixture.call("web.find", json!({"query": "x", "owner": "eve"})).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::InvalidArgs);
    insta::assert_snapshot!(error.message, @"the arguments do not fit `web.find` (a shape of `github.search`, `google.search`): unknown argument `owner`");
}

#[tokio::test]
async fn the_next_original_runs_if_the_source_of_the_first_is_down() {
    let fixture = fixture(granted(), Arc::new(DenyAll)).await;
    fixture.first.is_down.store(true, Ordering::SeqCst);
    // After several failures the breaker of the source is open, and its engine is not asked any more.
    for call in 1..=8 {
        let result = fixture.call("web.find", json!({"query": "x"})).await;
        assert_eq!(result.result["ran"], "google.search", "{:?}", result.error);
        assert_eq!(fixture.runs(), (0, call));
        assert_eq!(fixture.records.records().pop().unwrap().original.as_deref(), Some("google::search"));
    }
}

#[tokio::test]
async fn a_failure_of_the_first_original_is_no_reason_to_run_the_next() {
    let properties = json!({"q": {"type": "string"}, "owner": {"type": "string"}});
    let mut first = source("one", "github.search", &properties);
    first.fails = true;
    let fixture = fixture_with(first, granted(), Arc::new(DenyAll)).await;
    let error = fixture.call("web.find", json!({"query": "x"})).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::ToolFailed);
    assert_eq!(fixture.runs(), (1, 0));
}
