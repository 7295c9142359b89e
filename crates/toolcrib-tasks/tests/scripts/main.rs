//! Scripts of sessions, with real workers: this program starts itself again as the worker.
#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a failed test panics")]

use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use libtest_mimic::{Arguments, Trial};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::timeout;
use toolcrib_exec::Executor;
use toolcrib_model::{ErrorKind, JsonObject, Risk, ToolCall};
use toolcrib_policy::{Capabilities, Policy};
use toolcrib_port::{Answer, ApprovalRequest, Approver, CallContext, ToolLoader as _};
use toolcrib_registry::ToolRegistry;
use toolcrib_script::{JavaScriptEngine, WORKER_ARGUMENT, run_worker};
use toolcrib_sdk::{FunctionTool, Module};
use toolcrib_tasks::scripts::{ScriptCallers, ScriptSettings, ScriptState, Scripts};
use toolcrib_tasks::store::MemoryStore;
use toolcrib_tasks::{Services, Store, SystemClock, TaskPorts};

/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(WORKER_ARGUMENT) {
        return run_worker();
    }
    macro_rules! trials {
        ($($test:ident),* $(,)?) => {
            vec![$(Trial::test(stringify!($test), || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on($test());
                Ok(())
            })),*]
        };
    }
    let trials = trials![
        a_script_that_only_reads_is_not_stored,
        a_paused_script_goes_on_when_a_person_comes_and_its_owner_is_told,
        only_its_owner_resumes_a_script,
        a_paused_script_expires,
        the_end_of_a_session_ends_its_scripts,
        a_script_whose_caller_goes_away_is_forgotten,
        a_script_is_resumed_from_the_store_by_another_process,
        callers_without_scripts_and_scripts_within_scripts_are_refused,
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A person who comes, and approves everything from then on.
#[derive(Default)]
struct Person {
    is_here: AtomicBool,
    came: Notify,
}

impl Person {
    fn come(&self) {
        self.is_here.store(true, Ordering::SeqCst);
        self.came.notify_waiters();
    }
}

#[async_trait]
impl Approver for Person {
    async fn ask(&self, batch: &mut [ApprovalRequest], _context: &CallContext) {
        for request in batch {
            let is_here = self.is_here.load(Ordering::SeqCst);
            let approval = request.question().approve();
            request.answer = Some(if is_here { Answer::Approved(approval) } else { Answer::Nobody });
        }
    }

    async fn available(&self) {
        let came = self.came.notified();
        if !self.is_here.load(Ordering::SeqCst) {
            came.await;
        }
    }
}

/// An app whose tools count their calls.
struct Lab {
    executor: Arc<Executor>,
    person: Arc<Person>,
    store: Arc<dyn Store>,
    services: Arc<Services>,
    scripts: Scripts,
    looked: Arc<AtomicUsize>,
    sold: Arc<AtomicUsize>,
}

impl Lab {
    async fn new() -> Self {
        Self::with(Arc::new(MemoryStore::new()), Duration::from_hours(24)).await
    }

    async fn with(store: Arc<dyn Store>, retention: Duration) -> Self {
        let (looked, sold) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counted = |counter: &Arc<AtomicUsize>| {
            let counter = Arc::clone(counter);
            move |_: JsonObject, _: CallContext| {
                let number = counter.fetch_add(1, Ordering::SeqCst) + 1;
                async move { Ok::<_, toolcrib_model::ToolError>(json!({"number": number})) }
            }
        };
        let shop = Module::new("shop", "Sells things.")
            .with_tool(FunctionTool::new("look", "Looks.", counted(&looked)).with_risk(Risk::Low))
            .with_tool(
                FunctionTool::new("sell", "Sells.", counted(&sold))
                    .with_risk(Risk::Medium)
                    .with_metadata("side_effects", json!(["sells a thing"])),
            );
        let rules = json!({"default_policy": "grant", "approve": [{"module": "shop", "actions": ["sell"]}]});
        let capabilities: Capabilities = serde_json::from_value(rules).unwrap();
        let policy = Policy::new(&capabilities, []).unwrap();
        let person = Arc::new(Person::default());
        let registry = Arc::new(ToolRegistry::new());
        let executor = Arc::new(Executor::new(registry, Arc::new(policy), Arc::clone(&person) as _));
        let engine = Arc::new(JavaScriptEngine::of_current_program().unwrap());
        let ports = TaskPorts {
            tool_caller: Some(executor.tool_caller()),
            approver: Some(Arc::clone(&person) as _),
            ..TaskPorts::default()
        };
        let services = Services::open(Arc::clone(&store), Arc::new(SystemClock), false, ports).await.unwrap();
        let services = Arc::new(services);
        let mut settings = ScriptSettings::new(ScriptCallers { agents: false, clients: true });
        settings.retention = retention;
        let scripts = Scripts::open(Arc::clone(&services), engine, settings).await.unwrap();
        let own = scripts
            .tools()
            .into_iter()
            .fold(Module::new("context_builder", "Runs tools."), Module::with_tool);
        for module in [shop, own] {
            let module = Arc::new(module);
            executor.add_engine(module.source(), Arc::clone(&module) as _);
            executor.registry().add_loader(module);
        }
        executor.registry().refresh().await.unwrap();
        Self { executor, person, store, services, scripts, looked, sold }
    }

    /// Calls `run_script` as a client does.
    async fn call(&self, session: &str, arguments: Value) -> toolcrib_model::ToolResult {
        let call = ToolCall::new("run_script", arguments.as_object().unwrap().clone());
        self.executor.call(call, &CallContext::new(session)).await
    }

    /// Runs a script that pauses, and returns its id.
    async fn paused(&self) -> String {
        let source = "const { number } = await tools.shop.look({}); await tools.shop.sell({}); return number";
        let result = self.call("one", json!({"source": source})).await;
        assert_eq!(result.result["waiting_for"][0]["tool"], "shop.sell", "{result:?}");
        result.result["script_id"].as_str().unwrap().to_owned()
    }

    /// Waits until no script is stored, or none that is paused.
    async fn until(&self, is_so: impl Fn(&[ScriptState]) -> bool) {
        let reached = async {
            loop {
                let states: Vec<_> =
                    self.scripts.all().await.iter().map(|script| script.task.status).collect();
                if is_so(&states) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, reached).await.unwrap();
    }

    fn sold(&self) -> usize {
        self.sold.load(Ordering::SeqCst)
    }
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    timeout(PATIENCE, work).await.unwrap()
}

async fn a_script_that_only_reads_is_not_stored() {
    let lab = Lab::new().await;
    let source = "const all = await Promise.all([1, 2, 3].map(() => tools.shop.look({}))); return all.length";
    let result = lab.call("one", json!({"source": source})).await;
    assert_eq!(result.result, json!({"result": 3, "calls": 3}));
    assert!(lab.scripts.all().await.is_empty());
    assert_eq!(lab.looked.load(Ordering::SeqCst), 3);
}

async fn a_paused_script_goes_on_when_a_person_comes_and_its_owner_is_told() {
    let lab = Lab::new().await;
    let id = lab.paused().await;
    assert_eq!(lab.sold(), 0);
    lab.person.come();
    lab.until(|states| states == [ScriptState::Completed]).await;
    assert_eq!((lab.looked.load(Ordering::SeqCst), lab.sold()), (1, 1));
    let told = async {
        loop {
            if let Some((_, told)) = lab.services.notifications().peek("one", 1).await.into_iter().next() {
                return told.text;
            }
            tokio::task::yield_now().await;
        }
    };
    let told = within(told).await;
    assert_eq!(
        told,
        format!("The script {id} has ended: 1. `run_script` with `resume: \"{id}\"` gives all of it")
    );
    let result = lab.call("one", json!({"resume": id})).await;
    assert_eq!(result.result, json!({"result": 1, "calls": 2}));
    assert_eq!(lab.call("one", json!({"resume": id})).await.error.unwrap().kind, ErrorKind::NotFound);
}

async fn only_its_owner_resumes_a_script() {
    let lab = Lab::new().await;
    let id = lab.paused().await;
    assert_eq!(lab.call("two", json!({"resume": id})).await.error.unwrap().kind, ErrorKind::NotFound);
    // The person comes during the call of the owner.
    lab.person.is_here.store(true, Ordering::SeqCst);
    let result = lab.call("one", json!({"resume": id})).await;
    assert_eq!((&result.result["result"], lab.sold()), (&json!(1), 1));
    assert!(lab.scripts.all().await.is_empty());
}

async fn a_paused_script_expires() {
    let lab = Lab::with(Arc::new(MemoryStore::new()), Duration::from_millis(50)).await;
    let id = lab.paused().await;
    lab.until(<[_]>::is_empty).await;
    let told = async {
        loop {
            if let Some((_, told)) = lab.services.notifications().peek("one", 1).await.into_iter().next() {
                return told.text;
            }
            tokio::task::yield_now().await;
        }
    };
    assert!(within(told).await.starts_with(&format!("The script {id} was not approved within")));
    assert_eq!(lab.sold(), 0);
}

async fn the_end_of_a_session_ends_its_scripts() {
    let lab = Lab::new().await;
    lab.paused().await;
    lab.scripts.end_session("two").await;
    assert_eq!(lab.scripts.all().await.len(), 1);
    lab.scripts.end_session("one").await;
    assert!(lab.scripts.all().await.is_empty());
    lab.person.come();
    assert_eq!(lab.sold(), 0);
}

async fn a_script_whose_caller_goes_away_is_forgotten() {
    let lab = Lab::new().await;
    lab.person.come();
    let source = "await tools.shop.sell({}); for (;;) await tools.shop.look({})";
    let (looked, call) = (Arc::clone(&lab.looked), lab.call("one", json!({"source": source})));
    let begun = async {
        while looked.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        result = call => assert!(result.error.is_some(), "it reaches the limit of its calls"),
        () = within(begun) => {}
    }
    lab.until(<[_]>::is_empty).await;
    assert_eq!(lab.sold(), 1);
}

async fn a_script_is_resumed_from_the_store_by_another_process() {
    let first = Lab::new().await;
    first.paused().await;
    let second = Lab::with(Arc::clone(&first.store), Duration::from_hours(24)).await;
    second.scripts.resume_all();
    second.person.come();
    second.until(|states| states == [ScriptState::Completed]).await;
    assert_eq!((second.looked.load(Ordering::SeqCst), second.sold()), (0, 1), "only the rest is done");
    let result = second.call("one", json!({"resume": second.scripts.all().await[0].task.script_id})).await;
    assert_eq!(result.result["result"], 1, "the result of the first call is that of the first process");
}

async fn callers_without_scripts_and_scripts_within_scripts_are_refused() {
    let lab = Lab::new().await;
    let call = ToolCall::new("run_script", json!({"source": "return 1"}).as_object().unwrap().clone());
    let refused = lab.executor.call(call, &CallContext::new("one").with_agent("clerk")).await;
    assert_eq!(refused.error.unwrap().kind, ErrorKind::Denied);
    let nested =
        lab.call("one", json!({"source": "return await tools.run_script({source: 'return 1'})"})).await;
    assert!(nested.error.unwrap().message.contains("a script runs neither inside of a script"), "nested");
    for arguments in [json!({}), json!({"source": "1", "resume": "script_1"})] {
        assert_eq!(lab.call("one", arguments).await.error.unwrap().kind, ErrorKind::InvalidArgs);
    }
}
