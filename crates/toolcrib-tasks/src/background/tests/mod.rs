//! What calls in the background promise.

mod after;
mod approval;
mod drops;
mod operator;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolcrib_exec::Executor;
use toolcrib_model::{ErrorKind, JsonObject, Risk, ToolCall, ToolError};
use toolcrib_policy::Policy;
use toolcrib_port::{CallContext, Progress};
use toolcrib_sdk::{FunctionTool, Module};

use super::*;
use crate::store::{Change, MemoryStore, Record, SqliteStore};
use crate::testing::{self, TestClock};
use crate::{Store, TaskPorts};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A workshop with a machine that runs until it is told to end.
struct Shop {
    executor: Arc<Executor>,
    background: Background,
    services: Arc<Services>,
    clock: Arc<TestClock>,
    store: Arc<dyn Store>,
    /// Lets the machine end.
    end: Arc<Notify>,
    /// How often the machine was started.
    started: Arc<AtomicUsize>,
}

impl Shop {
    async fn new() -> Self {
        Self::with(Arc::new(MemoryStore::new()), BackgroundSettings::default()).await
    }

    async fn with(store: Arc<dyn Store>, settings: BackgroundSettings) -> Self {
        let rules = json!({"default_policy": "grant", "deny": [{"module": "shop", "actions": ["locked"]}]});
        Self::under(testing::policy(&rules), store, settings).await
    }

    async fn under(policy: Policy, store: Arc<dyn Store>, settings: BackgroundSettings) -> Self {
        Self::open(policy, store, settings, false).await
    }

    /// A process that shares the store with others.
    async fn sharing(store: &Arc<dyn Store>) -> Self {
        let policy = testing::policy(&json!({"default_policy": "grant"}));
        Self::open(policy, Arc::clone(store), BackgroundSettings::default(), true).await
    }

    async fn open(
        policy: Policy,
        store: Arc<dyn Store>,
        settings: BackgroundSettings,
        is_shared: bool,
    ) -> Self {
        let (end, started) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let machine = |idempotent: bool, name: &str| {
            let (end, started) = (Arc::clone(&end), Arc::clone(&started));
            FunctionTool::new(
                name,
                "Runs until it is told to end.",
                move |_: Nothing, context: CallContext| {
                    let (end, started) = (Arc::clone(&end), Arc::clone(&started));
                    async move {
                        started.fetch_add(1, Ordering::SeqCst);
                        if let Some(progress) = &context.progress {
                            let message = Some("turning".to_owned());
                            progress.progress(&Progress { done: 1.0, total: Some(2.0), message });
                        }
                        end.notified().await;
                        Ok::<_, ToolError>(json!({"made": 7}))
                    }
                },
            )
            .with_risk(Risk::Low)
            .with_side_effects(["turns"])
            .with_metadata("idempotent", idempotent)
        };
        let broken = FunctionTool::new("broken", "Fails.", |_: Nothing, _| async {
            Err::<Value, _>(ToolError::new(ErrorKind::ToolFailed, "the belt is torn"))
        });
        let module = Module::new("shop", "Makes things.")
            .with_tool(machine(false, "machine"))
            .with_tool(machine(true, "mill"))
            .with_tool(machine(false, "locked"))
            .with_tool(broken.with_risk(Risk::Low));
        let executor = testing::executor_under(module, policy).await;
        let clock = Arc::new(TestClock::at("2026-03-01T09:00:00Z"));
        let ports = testing::ports(&executor);
        let services = Services::open(Arc::clone(&store), clock.clone(), is_shared, ports).await.unwrap();
        let services = Arc::new(services);
        let background = Background::open(Arc::clone(&services), settings).await.unwrap();
        background.resume().await.unwrap();
        Self { executor, background, services, clock, store, end, started }
    }

    /// Sets the clock forward.
    fn pass(&self, time: SignedDuration) {
        self.clock.jump(time);
    }

    async fn launch(&self, tool: &str) -> Result<TaskStatus, ToolError> {
        self.background.launch(ToolCall::new(tool, JsonObject::new()), &context()).await
    }

    async fn told(&self) -> Vec<String> {
        self.services.notifications.take("s").await.into_iter().map(|told| told.text).collect()
    }

    /// Adds the tools of calls in the background to those of the shop.
    async fn add_tools(&self) {
        let module =
            self.background.tools().into_iter().fold(Module::new("context_builder", ""), Module::with_tool);
        testing::add(&self.executor, module).await;
    }

    /// Waits for the end, in the time that passes by itself.
    async fn wait(&self, id: &str) -> TaskStatus {
        self.background.wait(id, Duration::from_mins(1), &context()).await.unwrap()
    }

    /// Lets the machine end, and comes back when the call has, which nobody waited for.
    async fn end(&self, id: &str) {
        let live = self.background.inner.ledger.get(id).unwrap();
        self.end.notify_one();
        live.ended().await;
    }
}

fn context() -> CallContext {
    CallContext::new("s").with_agent("clerk")
}

#[tokio::test(start_paused = true)]
async fn a_call_runs_beside_the_conversation_and_its_end_is_told_once() {
    let shop = Shop::new().await;
    let begun = shop.launch("shop.machine").await.unwrap();
    assert_eq!((begun.status, begun.result.clone()), (TaskState::Running, None));
    // It has been started once this can be awaited.
    while shop.started.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let status = shop.background.status(&begun.task_id, &context()).await.unwrap();
    assert_eq!(status.progress.as_deref(), Some("1 of 2: turning"));
    shop.end(&begun.task_id).await;
    let status = shop.background.status(&begun.task_id, &context()).await.unwrap();
    assert_eq!((status.status, status.result), (TaskState::Completed, Some(json!({"made": 7}))));
    // The notification is written behind the end.
    tokio::time::advance(Duration::from_secs(1)).await;
    let told = shop.told().await;
    assert_eq!(
        told,
        [format!("The background task {} (shop.machine) has ended: {{\"made\":7}}", begun.task_id)]
    );
    assert!(shop.told().await.is_empty(), "once");
}

#[tokio::test(start_paused = true)]
async fn who_waits_gets_the_result_and_is_not_told_of_it_again() {
    let shop = Shop::new().await;
    let id = shop.launch("shop.machine").await.unwrap().task_id;
    let still = shop.background.wait(&id, Duration::from_secs(5), &context()).await.unwrap();
    assert_eq!(still.status, TaskState::Running, "the time was over first");
    let (waited, ()) = tokio::join!(shop.wait(&id), async { shop.end.notify_one() });
    assert_eq!((waited.status, waited.result), (TaskState::Completed, Some(json!({"made": 7}))));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(shop.told().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_ends() {
    let shop = Shop::new().await;
    let id = shop.launch("shop.machine").await.unwrap().task_id;
    let status = shop.background.cancel(&id, &context()).await.unwrap();
    assert_eq!(status.status, TaskState::Cancelled, "{status:?}");
    assert!(shop.told().await.is_empty(), "who has cancelled it knows");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_cannot_run_is_refused_when_it_is_made_and_leaves_no_task() {
    let shop = Shop::new().await;
    for (tool, arguments, expected) in [
        ("shop.locked", json!({}), ErrorKind::Denied),
        ("shop.machin", json!({}), ErrorKind::UnknownTool),
        ("shop.machine", json!({"speed": 1}), ErrorKind::InvalidArgs),
    ] {
        let call = ToolCall::new(tool, arguments.as_object().unwrap().clone());
        let error = shop.background.launch(call, &context()).await.unwrap_err();
        assert_eq!(error.kind, expected, "{tool}");
    }
    assert!(shop.background.list(&context()).await.is_empty());
    assert_eq!(shop.started.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_session_and_an_agent_see_only_their_own() {
    let shop = Shop::new().await;
    let id = shop.launch("shop.machine").await.unwrap().task_id;
    for stranger in [CallContext::new("other").with_agent("clerk"), CallContext::new("s").with_agent("other")]
    {
        let error = shop.background.status(&id, &stranger).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotFound);
        assert!(!format!("{error:?}").contains("shop"), "{error:?}");
        assert_eq!(shop.background.cancel(&id, &stranger).await.unwrap_err().kind, ErrorKind::NotFound);
        assert!(shop.background.list(&stranger).await.is_empty());
    }
    assert_eq!(shop.background.list(&context()).await.len(), 1);
    shop.end(&id).await;
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(shop.services.notifications.take("other").await.is_empty());
    assert_eq!(shop.told().await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn no_more_run_at_once_and_no_more_are_kept_than_may_be() {
    let settings = BackgroundSettings { max_running: 2, max_retained: 3, ..BackgroundSettings::default() };
    let shop = Shop::with(Arc::new(MemoryStore::new()), settings).await;
    let first = shop.launch("shop.machine").await.unwrap().task_id;
    shop.launch("shop.machine").await.unwrap();
    let refused = shop.launch("shop.machine").await.unwrap_err();
    assert_eq!((refused.kind, refused.hint.is_some()), (ErrorKind::LimitReached, true));
    shop.background.cancel(&first, &context()).await.unwrap();
    shop.pass(SignedDuration::from_secs(1));
    for _ in 0..2 {
        let id = shop.launch("shop.broken").await.unwrap().task_id;
        shop.wait(&id).await;
    }
    let kept = shop.background.list(&context()).await;
    assert_eq!(kept.len(), 3);
    assert!(kept.iter().all(|task| task.task_id != first), "the one that ended first is forgotten");
}

#[tokio::test(start_paused = true)]
async fn a_result_is_kept_for_half_an_hour() {
    let shop = Shop::new().await;
    let id = shop.launch("shop.broken").await.unwrap().task_id;
    shop.wait(&id).await;
    shop.pass(SignedDuration::from_mins(29));
    assert!(shop.background.status(&id, &context()).await.is_ok());
    shop.pass(SignedDuration::from_mins(2));
    assert_eq!(shop.background.status(&id, &context()).await.unwrap_err().kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn after_a_crash_what_may_be_repeated_is_and_of_the_other_the_outcome_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path, false).await.unwrap().store);
    let shop = Shop::with(Arc::clone(&store), BackgroundSettings::default()).await;
    let machine = shop.launch("shop.machine").await.unwrap().task_id;
    let mill = shop.launch("shop.mill").await.unwrap().task_id;
    let unread = shop.launch("shop.broken").await.unwrap().task_id;
    shop.background.inner.ledger.get(&unread).unwrap().ended().await;
    // As a killed process leaves it: nothing is told that it ends.
    for part in ["", "-wal"] {
        let name = format!("tasks.db{part}");
        std::fs::copy(folder.path().join(&name), folder.path().join(format!("again-{name}"))).unwrap();
    }
    let copy = SqliteStore::open(folder.path().join("again-tasks.db"), false).await.unwrap().store;
    let again = Shop::with(Arc::new(copy), BackgroundSettings::default()).await;
    let status = again.background.status(&machine, &context()).await.unwrap();
    assert_eq!(status.status, TaskState::OutcomeUnknown);
    assert_eq!(status.error.unwrap().kind, ErrorKind::OutcomeUnknown);
    assert!(again.told().await.iter().any(|told| told.contains(&machine)));
    let status = again.background.status(&unread, &context()).await.unwrap();
    assert_eq!(status.status, TaskState::Failed, "a result that nobody read is still there");
    let (status, ()) = tokio::join!(again.wait(&mill), async { again.end.notify_one() });
    assert_eq!((status.status, again.started.load(Ordering::SeqCst)), (TaskState::Completed, 1));
    store.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_another_process_runs_is_left_to_it_and_its_end_becomes_known() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let one = Shop::sharing(&store).await;
    let (machine, mill) = (one.launch("shop.machine").await.unwrap(), one.launch("shop.mill").await.unwrap());
    let other = Shop::sharing(&store).await;
    // Longer than a lease holds.
    let waited = other.background.wait(&machine.task_id, Duration::from_secs(40), &context()).await.unwrap();
    let status = other.background.status(&mill.task_id, &context()).await.unwrap();
    assert_eq!((waited.status, status.status), (TaskState::Running, TaskState::Running));
    assert_eq!(other.started.load(Ordering::SeqCst), 0);
    one.background.cancel(&machine.task_id, &context()).await.unwrap();
    one.end(&mill.task_id).await;
    let status = other.wait(&mill.task_id).await;
    assert_eq!((status.status, status.result), (TaskState::Completed, Some(json!({"made": 7}))));
    assert_eq!(other.started.load(Ordering::SeqCst), 0, "it was not made again");
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_revoked_client_is_not_made_again_after_a_restart() {
    let shop = Shop::new().await;
    let mill = shop.launch("shop.mill").await.unwrap().task_id;
    let policy = testing::policy(&json!({"default_policy": "grant"})).with_unknown_denied("s", "the tests");
    let again = Shop::under(policy, Arc::clone(&shop.store), BackgroundSettings::default()).await;
    let status = again.wait(&mill).await;
    assert_eq!((status.status, status.error.unwrap().kind), (TaskState::Failed, ErrorKind::Denied));
    assert_eq!(again.started.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn at_the_end_calls_have_their_time_and_are_cancelled_then_and_no_more_are_started() {
    let shop = Shop::new().await;
    let id = shop.launch("shop.machine").await.unwrap().task_id;
    shop.services.stop_intake();
    let closing = shop.background.close(Duration::from_secs(10));
    let ending = async {
        // Once the closing has begun.
        tokio::task::yield_now().await;
        let refused = shop.launch("shop.machine").await.unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Unavailable);
    };
    tokio::join!(closing, ending);
    let status = shop.background.status(&id, &context()).await.unwrap();
    assert_eq!(status.status, TaskState::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ends_takes_its_calls_with_it() {
    let shop = Shop::new().await;
    let id = shop.launch("shop.machine").await.unwrap().task_id;
    shop.background.end_session("other").await;
    assert_eq!(shop.background.list(&context()).await.len(), 1);
    shop.background.end_session("s").await;
    assert_eq!(shop.background.status(&id, &context()).await.unwrap_err().kind, ErrorKind::NotFound);
    assert!(shop.store.load(RecordKind::Background).await.unwrap().is_empty());
}

/// A store on a full disk.
struct FullStore(MemoryStore);

#[async_trait::async_trait]
impl Store for FullStore {
    async fn list(&self, kind: RecordKind, prefix: &str) -> Result<Vec<Record>, StoreError> {
        self.0.list(kind, prefix).await
    }

    async fn remove_ended(&self) -> Result<(), StoreError> {
        self.0.remove_ended().await
    }
    async fn get(&self, kind: RecordKind, id: &str) -> Result<Option<Record>, StoreError> {
        self.0.get(kind, id).await
    }
    async fn apply(&self, _changes: Vec<Change>) -> Result<(), StoreError> {
        Err(StoreError::Full { path: "tasks.db".into() })
    }
    async fn lease(&self, id: &str, owner: &str, time: Duration) -> Result<bool, StoreError> {
        self.0.lease(id, owner, time).await
    }
    async fn release(&self, id: &str, owner: &str) -> Result<(), StoreError> {
        self.0.release(id, owner).await
    }
    fn is_durable(&self) -> bool {
        true
    }
    async fn close(&self) {}
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_kept_runs_and_says_so() {
    let shop = Shop::with(Arc::new(FullStore(MemoryStore::new())), BackgroundSettings::default()).await;
    let begun = shop.launch("shop.machine").await.unwrap();
    assert!(begun.note.unwrap().contains("no room left"));
    let (status, ()) = tokio::join!(shop.wait(&begun.task_id), async { shop.end.notify_one() });
    assert_eq!(status.status, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn one_action_has_five_modes_and_what_fits_none_is_told_what_would() {
    let shop = Shop::new().await;
    shop.add_tools().await;
    let run = async |arguments: Value| {
        let call = ToolCall::new("context_builder.background_run", arguments.as_object().unwrap().clone());
        shop.executor.call(call, &context()).await
    };
    let begun = run(json!({"tool": "shop.machine"})).await.result;
    let id = begun["task_id"].as_str().unwrap();
    assert_eq!(run(json!({"task_id": id})).await.result["status"], "running");
    assert_eq!(run(json!({"list": true})).await.result["tasks"][0]["task_id"], id);
    let (waited, ()) =
        tokio::join!(run(json!({"task_id": id, "wait": true})), async { shop.end.notify_one() });
    assert_eq!(
        (&waited.result["status"], &waited.result["result"]["made"]),
        (&json!("completed"), &json!(7))
    );
    shop.pass(SignedDuration::from_secs(1));
    let other = run(json!({"tool": "shop.machine", "params": {}})).await.result;
    let cancelled = run(json!({"task_id": other["task_id"], "cancel": true})).await.result;
    assert_eq!(cancelled["status"], "cancelled");
    let wrong = [
        json!({}),
        json!({"tool": "shop.machine", "list": true}),
        json!({"wait": true}),
        json!({"task_id": "task_0"}),
    ];
    let mut said = Vec::new();
    for arguments in wrong {
        let error = run(arguments.clone()).await.error.unwrap();
        let error = json!({"kind": error.kind, "message": error.message, "hint": error.hint});
        said.push(json!({"arguments": arguments, "error": error}));
    }
    let said = serde_json::to_string_pretty(&said).unwrap().replace(id, "task_1");
    insta::assert_snapshot!(said.replace(other["task_id"].as_str().unwrap(), "task_2"));
}

#[tokio::test(start_paused = true)]
async fn a_client_runs_no_more_in_all_its_sessions_than_it_may() {
    let settings = BackgroundSettings { max_running_of_client: 3, ..BackgroundSettings::default() };
    let shop = Shop::with(Arc::new(MemoryStore::new()), settings).await;
    let launch = async |session: &str, user: Option<&str>| {
        let mut context = CallContext::new(session);
        context.user = user.map(Arc::from);
        shop.background.launch(ToolCall::new("shop.machine", JsonObject::new()), &context).await
    };
    for session in ["serve/ci/1", "serve/ci/2", "serve/ci/3"] {
        launch(session, None).await.unwrap();
    }
    let refused = launch("serve/ci/4", None).await.unwrap_err();
    insta::assert_snapshot!(refused, @"limit_reached: 3 background calls of this client are running in all its sessions, which is the limit (wait for one of them, or cancel one)");
    // Other clients, other people of the same one, and whoever is on this machine have theirs.
    for (session, user) in [("serve/ci2/1", None), ("serve/ci/5", Some("ada")), ("cli", None)] {
        launch(session, user).await.unwrap();
    }
}
