//! What a module of a worker promises, with workers in Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::timeout;
use toolcrib_model::{ErrorKind, QualifiedName, Secret, Tool, ToolCall, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call, Capabilities, Effect, Policy, Verdict};
use toolcrib_port::{
    CallContext, Catalogue, Progress, ProgressListener, RejectKind, ToolCaller, ToolEngine, ToolLoader,
};

use super::WorkerModule;
use crate::ModuleSettings;

mod protocol;

/// How long something is waited for that has to happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// The Python package.
const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/src");

/// A folder with the module `modules/reports` in Python.
struct App(TempDir);

impl App {
    fn new(tools: &str) -> Self {
        Self(tempfile::tempdir().unwrap()).with_file("modules/reports/tools/report.py", tools)
    }

    fn with_file(self, path: &str, text: &str) -> Self {
        self.write(path, text);
        self
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn module(&self) -> WorkerModule {
        self.module_with(ModuleSettings { env: python(), ..Default::default() })
    }

    fn module_with(&self, settings: ModuleSettings) -> WorkerModule {
        WorkerModule::new(["python3", "-m", "toolcrib.worker", "modules/reports"], self.0.path(), settings)
    }

    fn running<const N: usize>(&self, argv: [&str; N]) -> WorkerModule {
        let settings = ModuleSettings { env: python(), ..Default::default() };
        WorkerModule::new(argv, self.0.path(), settings)
    }

    /// A module whose worker is this script for a shell, which may assume that the hello was read.
    fn scripted(script: &str) -> (Self, WorkerModule) {
        let app = Self::new("").with_file("worker.sh", &format!("read hello\n{script}\n"));
        let module = app.running(["sh", "worker.sh"]);
        (app, module)
    }
}

fn python() -> std::collections::BTreeMap<String, Secret> {
    [("PYTHONPATH".to_owned(), Secret::new(PACKAGE))].into()
}

async fn authorized(module: &WorkerModule, name: &str, arguments: &Value) -> Authorized<Call> {
    let loaded = module.load().await;
    let tool = loaded.tools.iter().find(|tool| tool.name.name() == name);
    let mut call =
        Call::new(Arc::new(tool.unwrap_or_else(|| panic!("{loaded:?}")).clone()), module.source().into(), 1);
    call.arguments = arguments.as_object().unwrap().clone();
    let capabilities = Capabilities { default_policy: Effect::Grant, ..Capabilities::default() };
    let Verdict::Granted(call) = Policy::new(&capabilities, []).unwrap().authorize(call, "test") else {
        panic!("not granted")
    };
    call
}

async fn call(module: &WorkerModule, name: &str, arguments: Value, context: &CallContext) -> ToolResult {
    let call = authorized(module, name, &arguments).await;
    timeout(PATIENCE, module.invoke(&call, context)).await.expect("the call ends")
}

/// The result of a call, or its error.
async fn outcome(module: &WorkerModule, name: &str, arguments: Value) -> Result<Value, ToolError> {
    let result = call(module, name, arguments, &CallContext::new("test")).await;
    result.error.map_or(Ok(result.result), Err)
}

fn is_alive(process: &Value) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

async fn ended(process: &Value) {
    until(&format!("the end of the process {process}"), || !is_alive(process)).await;
}

/// Waits until something is so.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    let (began, mut looks) = (Instant::now(), tokio::time::interval(Duration::from_millis(5)));
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "waited in vain for {what}");
        looks.tick().await;
    }
}

fn kill(process: &Value) {
    let killed = std::process::Command::new("kill").args(["-9", &process.to_string()]).status().unwrap();
    assert!(killed.success());
}

const SIX_LINES: &str = r#"from toolcrib import tool

@tool
def word_count(text: str) -> int:
    """Counts the words of a text."""
    return len(text.split())
"#;

const PROCESS: &str = r#"
import asyncio, os, time
from toolcrib import tool

calls = 0

@tool(risk="low")
def process() -> dict:
    """Tells which process this is, and how often it was asked."""
    global calls
    calls += 1
    return {"pid": os.getpid(), "calls": calls}

@tool
def crash():
    """Ends the process."""
    print("going down", flush=True)
    os._exit(7)

@tool(idempotent=True)
def crash_again():
    """Ends the process, which may be repeated."""
    os._exit(7)

@tool
async def wait(*, sdk):
    """Waits for long."""
    sdk.progress(1, message=str(os.getpid()))
    await asyncio.sleep(1000)

@tool
def hang(*, sdk):
    """Hangs."""
    sdk.progress(1, message=str(os.getpid()))
    time.sleep(1000)
"#;

#[tokio::test]
async fn six_lines_of_python_are_a_tool() {
    assert_eq!(SIX_LINES.lines().count(), 6);
    let app = App::new(SIX_LINES);
    let module = app.module();
    assert_eq!(module.exclusive_namespace(), None, "nothing is known before it is started");
    let loaded = module.load().await;
    assert_eq!(loaded.rejected, []);
    let [tool] = loaded.tools.as_slice() else { panic!("{loaded:?}") };
    assert_eq!(tool.name.to_string(), "reports::word_count");
    assert_eq!(tool.description, "Counts the words of a text.");
    assert_eq!(
        tool.parameters,
        json!({
            "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"],
            "additionalProperties": false,
        })
    );
    assert_eq!(module.exclusive_namespace(), Some("reports"));
    assert_eq!(outcome(&module, "word_count", json!({"text": "to be or not"})).await, Ok(json!(4)));
    let renamed = app.module_with(ModuleSettings {
        namespace: Some("texts".into()),
        env: python(),
        ..Default::default()
    });
    assert_eq!((renamed.source(), renamed.exclusive_namespace()), ("worker texts", Some("texts")));
    assert_eq!(renamed.load().await.tools[0].name.to_string(), "texts::word_count");
}

#[tokio::test]
async fn one_process_keeps_its_state_over_a_thousand_calls_that_cost_little() {
    let app = App::new(PROCESS);
    let module = app.module();
    let call = authorized(&module, "process", &json!({})).await;
    let context = CallContext::new("test");
    let mut times = Vec::with_capacity(1000);
    let mut last = Value::Null;
    for number in 1..=1000 {
        let began = Instant::now();
        let result = module.invoke(&call, &context).await;
        times.push(began.elapsed());
        assert_eq!((result.error, &result.result["calls"]), (None, &json!(number)));
        assert!(last.is_null() || last == result.result["pid"], "another process");
        last = result.result["pid"].clone();
    }
    times.sort();
    let median = times[500];
    println!("a call of a worker takes {median:?} (median of 1,000; the slowest {:?})", times[999]);
    // An idle machine takes a fraction of a millisecond. A process for each call would take more than this on any.
    assert!(median < Duration::from_millis(10), "{median:?}");
}

#[tokio::test]
async fn a_worker_that_is_killed_fails_its_calls_at_once_and_is_replaced_for_the_next() {
    let app = App::new(PROCESS);
    let module = Arc::new(app.module());
    let first = outcome(&module, "process", json!({})).await.unwrap()["pid"].clone();
    let (sender, mut heard) = mpsc::unbounded_channel();
    let context = CallContext::new("test").with_progress(Arc::new(Listener(sender)));
    let waiting = tokio::spawn({
        let module = Arc::clone(&module);
        async move { call(&module, "wait", json!({}), &context).await }
    });
    assert_eq!(heard.recv().await.unwrap().message, Some(first.to_string()));
    let began = Instant::now();
    kill(&first);
    let error = waiting.await.unwrap().error.unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(error.kind, ErrorKind::OutcomeUnknown);
    assert!(error.message.contains("the worker of `reports` ended during the call"), "{error}");
    assert!(error.message.contains("signal: 9"), "{error}");
    let second = outcome(&module, "process", json!({})).await.unwrap();
    assert_ne!(second["pid"], first);
    assert_eq!(second["calls"], 1, "its state is new");
}

#[tokio::test]
async fn a_call_that_may_be_repeated_is_unavailable_rather_than_unknown_when_its_worker_ends() {
    let app = App::new(PROCESS);
    let module = app.module();
    let error = outcome(&module, "crash", json!({})).await.unwrap_err();
    assert_eq!((error.kind, error.retryable), (ErrorKind::OutcomeUnknown, false));
    assert!(error.message.contains("it ended with exit status: 7: going down"), "{error}");
    let error = outcome(&module, "crash_again", json!({})).await.unwrap_err();
    assert_eq!((error.kind, error.retryable), (ErrorKind::Unavailable, true));
}

#[tokio::test]
async fn a_worker_that_ends_again_and_again_is_started_with_pauses() {
    let app = App::new(PROCESS);
    let module = app.module();
    let call = authorized(&module, "crash_again", &json!({})).await;
    let context = CallContext::new("test");
    let mut messages = Vec::new();
    for _ in 0..3 {
        messages.push(module.invoke(&call, &context).await.error.unwrap().message);
    }
    assert!(messages[1].contains("ended during the call"), "the second is started at once: {messages:?}");
    assert!(messages[2].contains("failed 2 times in a row, and is started again in 0."), "{messages:?}");
}

#[tokio::test]
async fn a_file_that_cannot_be_imported_is_a_reject_with_its_line() {
    let app = App::new(SIX_LINES)
        .with_file("modules/reports/tools/broken.py", "import os\nimport nowhere_at_all\n")
        .with_file("modules/reports/tools/syntax.py", "def (:\n");
    let loaded = app.module().load().await;
    assert_eq!(loaded.tools.len(), 1, "{loaded:?}");
    let rejected: Vec<_> = loaded
        .rejected
        .iter()
        .map(|reject| (reject.name.as_deref().unwrap(), reject.kind, reject.reason.as_str()))
        .collect();
    let [broken, syntax] = rejected.as_slice() else { panic!("{rejected:?}") };
    let reason = "modules/reports/tools/broken.py:2: ModuleNotFoundError: No module named 'nowhere_at_all'";
    assert_eq!(*broken, ("broken.py", RejectKind::InvalidTool, reason));
    assert_eq!((syntax.0, syntax.1), ("syntax.py", RejectKind::Syntax));
    assert!(syntax.2.starts_with("modules/reports/tools/syntax.py:1: SyntaxError: "), "{syntax:?}");
}

/// Hands on what it is told.
struct Listener(mpsc::UnboundedSender<Progress>);

impl ProgressListener for Listener {
    fn progress(&self, progress: &Progress) {
        self.0.send(progress.clone()).unwrap();
    }
}

/// Gives a call up as soon as it tells its process, and returns that.
async fn given_up(module: &WorkerModule, name: &str) -> Value {
    let (sender, mut heard) = mpsc::unbounded_channel();
    let context = CallContext::new("test").with_progress(Arc::new(Listener(sender)));
    let call = authorized(module, name, &json!({})).await;
    tokio::select! {
        result = module.invoke(&call, &context) => panic!("{result:?}"),
        progress = heard.recv() => serde_json::from_str(&progress.unwrap().message.unwrap()).unwrap(),
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_ends_and_its_worker_serves_the_next() {
    let app = App::new(PROCESS);
    let module = app.module();
    let process = given_up(&module, "wait").await;
    assert_eq!(outcome(&module, "process", json!({})).await.unwrap()["pid"], process);
}

#[tokio::test]
async fn a_worker_in_which_a_call_goes_on_after_it_was_given_up_is_replaced() {
    let app = App::new(PROCESS);
    let module = app.module();
    let process = given_up(&module, "hang").await;
    assert_eq!(
        outcome(&module, "process", json!({})).await.unwrap()["pid"],
        process,
        "it has some time to end"
    );
    ended(&process).await;
    assert_ne!(outcome(&module, "process", json!({})).await.unwrap()["pid"], process);
}

#[tokio::test]
async fn nothing_of_a_worker_is_left_when_its_module_is_closed_or_dropped() {
    let app = App::new(PROCESS);
    let module = app.module();
    let process = outcome(&module, "process", json!({})).await.unwrap()["pid"].clone();
    module.close().await;
    ended(&process).await;
    let error = module.load().await.rejected[0].reason.clone();
    assert_eq!(error, "the worker of `reports` is closed");

    let module = app.module();
    let process = outcome(&module, "process", json!({})).await.unwrap()["pid"].clone();
    drop(module);
    ended(&process).await;
}

#[tokio::test]
async fn a_tool_is_told_its_context_and_the_variables_of_the_app_and_no_others() {
    let app = App::new(
        r#"
import os
from toolcrib import tool

@tool
def look(*, context):
    """Looks around."""
    keys = ["session_id", "conversation_id", "user", "agent", "run_key", "workspace", "message_id"]
    names = ["TOOLCRIB_WORKSPACE", "API_KEY", "CARGO_PKG_NAME"]
    return [[context.get(key) for key in keys], [os.environ.get(name) for name in names], os.getcwd()]
"#,
    );
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some(), "there is something to keep here");
    let mut env = python();
    env.insert("API_KEY".into(), Secret::new("k-1"));
    let workspace = Some("/work space".into());
    let module = app.module_with(ModuleSettings { workspace, env, ..Default::default() });
    let context = CallContext::new("s-1").with_user("ada").with_agent("clerk").with_conversation("c-1");
    let result = call(&module, "look", json!({}), &context).await;
    assert_eq!(result.error, None);
    let folder = app.0.path().canonicalize().unwrap();
    let known = json!(["s-1", "c-1", "ada", "clerk", null, "/work space", null]);
    assert_eq!(result.result, json!([known, ["/work space", "k-1", null], folder]));
}

/// An entrance that knows one tool, and notes the contexts of calls.
#[derive(Default)]
struct Entrance(Mutex<Vec<(ToolCall, CallContext)>>);

fn note() -> Arc<Tool> {
    Tool::new(QualifiedName::new("notes", "add").unwrap()).with_description("Adds a note.").into()
}

#[async_trait]
impl ToolCaller for Entrance {
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult {
        let name = call.name.clone();
        self.0.lock().push((call, context.clone()));
        match name.as_str() {
            "notes.add" => ToolResult::ok(None, name, json!({"id": 7})),
            _ => ToolResult::failed(
                None,
                name,
                ToolError::new(ErrorKind::Denied, "`notes.drop` may not be used"),
            ),
        }
    }

    fn catalogue(&self) -> &dyn Catalogue {
        self
    }
}

impl Catalogue for Entrance {
    fn visible_tools(&self, _: &CallContext) -> Vec<Arc<Tool>> {
        let hidden = Tool::clone(&note()).with_metadata("user_selectable", false);
        vec![note(), hidden.into()]
    }

    fn find_tools(&self, name: &str, _: &CallContext) -> Result<Vec<Arc<Tool>>, ToolError> {
        match name {
            "notes.add" => Ok(vec![note()]),
            _ => Err(ToolError::new(ErrorKind::UnknownTool, format!("there is no tool `{name}`"))),
        }
    }
}

#[tokio::test]
async fn a_tool_calls_others_through_the_entrance_of_its_own_call() {
    let app = App::new(
        r#"
from toolcrib import tool, ToolError

@tool
def count(*, sdk):
    """Counts tools."""
    return [len(sdk.list_tools("notes")), len(sdk.list_tools(user_selectable_only=False)), len(sdk.list_tools("x"))]

@tool
async def add(name: str, *, sdk):
    """Adds a note."""
    tool = await sdk.get_tool("notes.add")
    return [tool.qualified_name, tool.description, await sdk.run_tool(name, {"text": "a"})]

@tool
def find(*, sdk):
    """Looks for a tool that is not there."""
    try:
        sdk.get_tool("nowhere.at_all")
    except ToolError as error:
        return error.kind
"#,
    );
    let module = app.module();
    let entrance = Arc::new(Entrance::default());
    let mut context = CallContext::new("s-1").with_user("ada");
    context.caller = Some(entrance.clone());
    context.depth = 3;
    context.deadline = Some(tokio::time::Instant::now() + PATIENCE);

    assert_eq!(call(&module, "count", json!({}), &context).await.result, json!([1, 2, 0]));
    assert_eq!(call(&module, "find", json!({}), &context).await.result, json!("unknown_tool"));
    let added = call(&module, "add", json!({"name": "notes.add"}), &context).await;
    assert_eq!(added.result, json!(["notes::add", "Adds a note.", {"id": 7}]), "{added:?}");
    let error = call(&module, "add", json!({"name": "notes.drop"}), &context).await.error.unwrap();
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Denied, "`notes.drop` may not be used"));

    let calls = entrance.0.lock();
    let (first, seen) = &calls[0];
    assert_eq!((first.name.as_str(), &first.arguments["text"]), ("notes.add", &json!("a")));
    assert_eq!((seen.session.as_ref(), seen.user.as_deref(), seen.depth), ("s-1", Some("ada"), 3));
    assert_eq!(seen.deadline, context.deadline, "it has no more time than the call itself");
}

#[tokio::test]
async fn a_tool_that_is_not_what_was_loaded_does_not_run_in_a_new_worker() {
    let app = App::new(PROCESS);
    let module = app.module();
    let loaded = authorized(&module, "process", &json!({})).await;
    let process = module.invoke(&loaded, &CallContext::new("test")).await.result["pid"].clone();
    app.write(
        "modules/reports/tools/report.py",
        &PROCESS.replace("def process()", "def process(to: str = 'x')"),
    );
    kill(&process);
    ended(&process).await;
    // The first call may still have been written to the old worker.
    let mut error = module.invoke(&loaded, &CallContext::new("test")).await.error.unwrap();
    if error.kind == ErrorKind::OutcomeUnknown {
        error = module.invoke(&loaded, &CallContext::new("test")).await.error.unwrap();
    }
    assert_eq!(error.kind, ErrorKind::ToolChanged, "{error}");
    timeout(PATIENCE, module.changed()).await.expect("the registry is told to load it again");
    assert_eq!(outcome(&module, "process", json!({})).await.unwrap()["calls"], 1);
}

#[test]
fn the_package_is_there() {
    assert!(Path::new(PACKAGE).join("toolcrib/worker.py").is_file(), "{}", PathBuf::from(PACKAGE).display());
}

#[tokio::test]
async fn access_that_a_python_tool_declares_is_warned_of_as_not_enforced() {
    let app = App::new(
        "from toolcrib import tool\n\n@tool(access={\"network\": []})\ndef look() -> str:\n    'Looks.'\n    return \"\"\n",
    );
    let module = app.module();
    let loaded = module.load().await;
    let warning = module.warning(&loaded.tools[0]).unwrap();
    assert!(warning.starts_with("`access.network` of `reports.look` is not enforced"), "{warning}");
    module.close().await;
}
