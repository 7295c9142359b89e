//! What a tool is shown of other tools, and what the options of its declaration do at the entrance.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tokio::time::Instant;
use toolcrib_app::{App, Blueprint, EntryContext, Extensions};
use toolcrib_exec::DenyAll;
use toolcrib_exec::limits::MAX_DEPTH;
use toolcrib_model::{ErrorKind, ToolCall, ToolError, ToolResult};
use toolcrib_modules::NoConfig;
use toolcrib_port::CallContext;
use toolcrib_sdk::{Module, Tools, module};

use crate::Runtime;

#[derive(Default)]
struct Desk {
    calls: AtomicU32,
}

/// Tools that speak of other tools, and one for each option.
#[module(id = "desk")]
impl Desk {
    /// Names the tools of a module.
    #[tool(risk = "low")]
    fn list(&self, tools: &Tools, module: String, all: bool) -> Vec<String> {
        tools.list_tools(module.as_str(), !all).iter().map(|tool| tool.name.name().to_owned()).collect()
    }

    /// Names all tools.
    #[tool(risk = "low")]
    fn list_all(&self, tools: &Tools) -> Vec<String> {
        tools.list_tools(None, true).iter().map(|tool| tool.name.dotted()).collect()
    }

    /// Describes a tool.
    #[tool(risk = "low")]
    fn describe(&self, tools: &Tools, name: String) -> Result<String, ToolError> {
        Ok(tools.get_tool(&name)?.description.clone())
    }

    /// Calls a tool for somebody.
    #[tool(risk = "low", timeout = 2)]
    async fn forward(&self, name: String, arguments: Value, tools: &Tools) -> Result<Value, ToolError> {
        tools.run_tool(&name, arguments).await
    }

    /// Says how many seconds are left, and whom it works for.
    #[tool(risk = "low", timeout = 60)]
    fn whoami(&self, context: &CallContext) -> Value {
        let left = context.deadline.map(|deadline| (deadline - Instant::now()).as_secs_f64());
        json!({"left": left, "agent": context.agent, "on_behalf_of": context.on_behalf_of.as_ref(), "depth": context.depth})
    }

    /// Calls itself for as long as that goes well, and says how often it did.
    #[tool(risk = "low")]
    async fn dive(&self, tools: &Tools) -> Value {
        match tools.run_tool("desk.dive", json!({})).await {
            Ok(below) => below,
            Err(error) => json!({"calls": self.calls.fetch_add(1, Ordering::SeqCst), "error": error.kind}),
        }
    }

    /// Waits for ever.
    #[tool(risk = "low", timeout = 1.5)]
    async fn wait(&self) {
        std::future::pending::<()>().await;
    }

    /// Is not for people to pick.
    #[tool(risk = "low", user_selectable = false)]
    fn internal(&self) {}

    /// Wants a yes.
    #[tool(risk = "low", confirmation_required)]
    fn confirmed(&self) {}

    /// Works at the second attempt, and may be repeated.
    #[tool(risk = "low", idempotent)]
    fn shaky(&self) -> Result<u32, ToolError> {
        self.attempt()
    }

    /// Works at the second attempt, and may not be repeated.
    #[tool(risk = "low")]
    fn once(&self) -> Result<u32, ToolError> {
        self.attempt()
    }

    /// Counts calls, and need not.
    #[tool(risk = "low", cacheable)]
    fn kept(&self) -> u32 {
        self.calls.fetch_add(1, Ordering::SeqCst)
    }

    /// Is always at hand.
    #[tool(risk = "low", operational)]
    fn pinned(&self) {}

    fn attempt(&self) -> Result<u32, ToolError> {
        match self.calls.fetch_add(1, Ordering::SeqCst) {
            0 => Err(ToolError::new(ErrorKind::Unavailable, "not yet").with_retryable(true)),
            calls => Ok(calls),
        }
    }
}

const RULES: &str = "tools: {capabilities: {default_policy: grant, deny: [{module: hello, actions: [status]}, \
                     {module: hello, actions: [greet_many], agent: 'lea*'}]}}";

async fn start(rules: &str) -> Runtime {
    let extensions = Extensions::default()
        .with_module("desk", |_: NoConfig, _: &EntryContext<'_>| Ok(Module::from(Desk::default())));
    let app = format!("modules: {{desk: {{}}, hello: {{}}}}\n{rules}\n");
    let app = Blueprint::from_text_with("app.yaml", &app, extensions).unwrap();
    Runtime::start(app, Arc::new(DenyAll)).await.unwrap()
}

async fn call_in(runtime: &Runtime, context: &CallContext, name: &str, arguments: Value) -> ToolResult {
    let call = ToolCall::new(name, arguments.as_object().unwrap().clone());
    runtime.executor().call(call, context).await
}

async fn call(runtime: &Runtime, name: &str, arguments: Value) -> ToolResult {
    call_in(runtime, &CallContext::new("s"), name, arguments).await
}

fn kind(result: ToolResult) -> ErrorKind {
    result.error.unwrap().kind
}

#[tokio::test]
async fn a_tool_sees_of_others_what_its_caller_may_use() {
    let runtime = start(RULES).await;
    let lead = CallContext::new("s").with_agent("lead");
    let helper = CallContext::new("s").with_agent("helper").with_on_behalf_of(["lead".into()]);
    let list = json!({"module": "hello", "all": true});
    assert_eq!(call(&runtime, "desk.list", list.clone()).await.result, json!(["say_hello", "greet_many"]));
    for context in [&lead, &helper] {
        assert_eq!(call_in(&runtime, context, "desk.list", list.clone()).await.result, json!(["say_hello"]));
    }
    for name in ["hello.say_hello", "hello::say_hello", "say_hello"] {
        let described = call(&runtime, "desk.describe", json!({"name": name})).await;
        assert_eq!(described.result, "Greets one person by name.", "{name}");
    }
    let misspelt = call(&runtime, "desk.describe", json!({"name": "hello.say_helo"})).await.error.unwrap();
    assert_eq!(misspelt.kind, ErrorKind::UnknownTool);
    assert!(misspelt.to_string().contains("hello.say_hello"), "{misspelt}");
    assert_eq!(
        kind(call(&runtime, "desk.describe", json!({"name": "hello.status"})).await),
        ErrorKind::Denied
    );
}

#[tokio::test]
async fn a_tool_that_names_no_module_lists_the_tools_of_all() {
    let runtime = start(RULES).await;
    let listed = call(&runtime, "desk.list_all", json!({})).await.result;
    let names: Vec<&str> = listed.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for name in ["desk.list_all", "hello.say_hello", "hello.greet_many"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert!(!names.contains(&"hello.status"), "it is denied: {names:?}");
}

#[tokio::test]
async fn tools_that_people_cannot_pick_are_listed_only_where_all_are_asked_for() {
    let runtime = start(RULES).await;
    for (all, is_there) in [(false, false), (true, true)] {
        let listed = call(&runtime, "desk.list", json!({"module": "desk", "all": all})).await;
        let names: Vec<&str> = listed.result.as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(names.contains(&"internal"), is_there, "{names:?}");
        assert_eq!(names.first(), Some(&"list"), "{names:?}");
    }
    assert!(call(&runtime, "desk.internal", json!({})).await.is_ok(), "an agent may call it all the same");
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_tool_goes_through_the_entrance_for_the_same_caller_in_the_same_time() {
    let runtime = start(RULES).await;
    let forward = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let said = call(&runtime, "desk.forward", forward("hello.say_hello", json!({"name": "Ada"}))).await;
    assert_eq!(said.result, "Hello, Ada!");
    let helper = CallContext::new("s").with_agent("helper").with_on_behalf_of(["lead".into()]);
    let whoami = call_in(&runtime, &helper, "desk.forward", forward("desk.whoami", json!({}))).await;
    assert_eq!(
        whoami.result,
        json!({"left": 2.0, "agent": "helper", "on_behalf_of": ["lead"], "depth": 2}),
        "60 s of its own are cut to the 2 s of the call above"
    );
    let greet = forward("hello.greet_many", json!({"names": []}));
    assert!(call(&runtime, "desk.forward", greet.clone()).await.is_ok());
    assert_eq!(kind(call_in(&runtime, &helper, "desk.forward", greet).await), ErrorKind::Denied);
    for (name, arguments, expected) in [
        ("hello.status", json!({}), ErrorKind::Denied),
        ("hello.say_hello", json!({"nme": "Ada"}), ErrorKind::InvalidArgs),
        ("hello.say_hello", json!(["Ada"]), ErrorKind::InvalidArgs),
        ("desk.confirmed", json!({}), ErrorKind::ApprovalRequired),
        ("nothing.there", json!({}), ErrorKind::UnknownTool),
    ] {
        assert_eq!(kind(call(&runtime, "desk.forward", forward(name, arguments)).await), expected, "{name}");
    }
    let dived = call(&runtime, "desk.dive", json!({})).await;
    assert_eq!(dived.result, json!({"calls": 0, "error": "limit_reached"}), "{MAX_DEPTH} levels");
}

#[tokio::test]
async fn a_caller_that_gives_up_gives_up_what_a_tool_has_called() {
    let runtime = start(RULES).await;
    let cancel = tokio_util::sync::CancellationToken::new();
    let context = CallContext::new("s").with_cancel(cancel.clone());
    let arguments = json!({"name": "desk.wait", "arguments": {}});
    let (result, ()) = tokio::join!(call_in(&runtime, &context, "desk.forward", arguments), async {
        cancel.cancel();
    });
    assert_eq!(kind(result), ErrorKind::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_ends_a_call_that_does_not_end_by_itself() {
    let runtime = start(RULES).await;
    let started = Instant::now();
    let error = call(&runtime, "desk.wait", json!({})).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(error.message.contains("1.5 s"), "{}", error.message);
    assert_eq!(started.elapsed().as_millis(), 1500);
}

#[tokio::test]
async fn what_wants_a_yes_asks_unless_it_is_granted_by_its_name() {
    let runtime = start(RULES).await;
    assert_eq!(kind(call(&runtime, "desk.confirmed", json!({})).await), ErrorKind::ApprovalRequired);
    let runtime = start("tools: {capabilities: {grant: [{module: desk, actions: [confirmed]}]}}").await;
    assert!(call(&runtime, "desk.confirmed", json!({})).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn what_may_be_repeated_is_tried_again_and_nothing_else() {
    assert_eq!(call(&start(RULES).await, "desk.shaky", json!({})).await.result, 1);
    assert_eq!(kind(call(&start(RULES).await, "desk.once", json!({})).await), ErrorKind::Unavailable);
}

#[tokio::test]
async fn what_can_be_kept_runs_once() {
    let runtime = start(RULES).await;
    for _ in 0..3 {
        assert_eq!(call(&runtime, "desk.kept", json!({})).await.result, 0);
    }
}

#[tokio::test]
async fn what_belongs_to_the_running_of_an_agent_is_shown_to_it_where_others_have_to_be_found() {
    let agents = "agents: [{id: a, brain: {provider: ollama, native_tool_use: true}}]\nruntime: {tool_injection: discovery}";
    let runtime = start(&format!("{RULES}\n{agents}")).await;
    let setup = runtime.agent(None).unwrap();
    let offered: Vec<&str> = setup.plan.offered.iter().map(|tool| tool.wire_name.as_str()).collect();
    assert!(offered.contains(&"desk__pinned") && !offered.contains(&"desk__kept"), "{offered:?}");
}

#[test]
fn an_audit_file_that_cannot_be_opened_is_said_at_its_place() {
    let app = App::from_text("app.yaml", "audit: {path: /no/such/folder/audit.jsonl}\n").unwrap();
    let error = app.open_audit().unwrap_err().to_string();
    assert!(
        error.starts_with("app.yaml:1:9: cannot write records to `/no/such/folder/audit.jsonl`"),
        "{error}"
    );
}
