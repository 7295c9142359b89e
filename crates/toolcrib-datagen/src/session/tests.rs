//! The promises of sessions, on a real executor.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures::FutureExt as _;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolcrib_exec::{DenyAll, Executor};
use toolcrib_model::{ErrorKind, JsonObject, QualifiedName, Risk, Tool, ToolCall, ToolResult};
use toolcrib_policy::{Authorized, Call, Policy};
use toolcrib_port::{CallContext, ToolEngine};
use toolcrib_registry::ToolRegistry;
use toolcrib_testkit::dropped_after;

use super::*;

/// An engine that keeps its counter in the session.
struct Counter {
    states: SessionStates,
    started: Notify,
    /// The number of calls that are running.
    running: Arc<AtomicUsize>,
}

/// Counts a call as running until it is dropped.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl ToolEngine for Counter {
    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        self.running.fetch_add(1, Ordering::SeqCst);
        let _running = Running(Arc::clone(&self.running));
        match call.tool.name.name() {
            "panic" => panic!("the engine breaks"),
            "hang" => {
                self.started.notify_one();
                std::future::pending().await
            }
            _ => {
                let view = self.states.enter(&context.session, 8, |_| true).unwrap();
                // Others may run meanwhile.
                tokio::task::yield_now().await;
                let count = view.values.get("count").and_then(Value::as_u64).unwrap_or_default() + 1;
                let remembered = RememberedCall {
                    tool: call.tool.name.clone(),
                    fingerprint: call.fingerprint,
                    arguments: call.arguments.clone(),
                    reply: count.into(),
                };
                let values = [("count".to_owned(), count.into())].into_iter().collect();
                self.states.leave((&context.session, view.id), remembered, Some(values)).unwrap();
                call.ok(json!({"count": count, "earlier": view.earlier.len()}))
            }
        }
    }
}

struct Fixture {
    engine: SessionEngine,
    counter: Arc<Counter>,
    ended: Arc<Mutex<Vec<String>>>,
    _executor: Arc<Executor>,
}

fn fixture() -> Fixture {
    let tool = |name| Tool::new(QualifiedName::new("t", name).unwrap());
    let tools =
        [tool("count"), tool("panic"), tool("hang"), tool("secret"), tool("look").with_risk(Risk::Low)];
    let registry = ToolRegistry::from_tools("test", tools).unwrap();
    let capabilities = json!({"default_policy": "grant", "deny": [{"actions": ["secret"]}]});
    let policy = Policy::new(&serde_json::from_value(capabilities).unwrap(), []).unwrap();
    let states = SessionStates::default();
    let (started, running) = (Notify::new(), Arc::default());
    let counter = Arc::new(Counter { states: states.clone(), started, running });
    let executor = Executor::new(Arc::new(registry), Arc::new(policy), Arc::new(DenyAll));
    let executor = Arc::new(executor.with_engine("test", counter.clone()));
    let ended = Arc::new(Mutex::new(Vec::new()));
    let names = Arc::clone(&ended);
    let engine = SessionEngine::new(executor.tool_caller(), states)
        .with_reversible_tools(|tool| tool.name.name() == "count")
        .with_teardown(move |session| names.lock().push(session.to_owned()));
    Fixture { engine, counter, ended, _executor: executor }
}

fn calls(names: &[&str]) -> Vec<ToolCall> {
    names.iter().map(|name| ToolCall::new(format!("t::{name}"), JsonObject::new())).collect()
}

fn counts(results: &[ToolResult]) -> Vec<Option<u64>> {
    results.iter().map(|result| result.result["count"].as_u64()).collect()
}

#[tokio::test]
async fn calls_run_in_order_and_see_the_earlier_ones() {
    let Fixture { engine, .. } = &fixture();
    let session = engine.setup("a", JsonObject::new()).unwrap();
    let results = engine.execute(session.name(), calls(&["count", "count"])).await.unwrap();
    assert_eq!(counts(&results), [Some(1), Some(2)]);
    assert_eq!(results[1].result["earlier"], 1);
    let both = tokio::join!(
        engine.execute("a", calls(&["count", "count"])),
        engine.execute("a", calls(&["count", "count"]))
    );
    assert_eq!(counts(&both.0.unwrap()), [Some(3), Some(4)]);
    assert_eq!(counts(&both.1.unwrap()), [Some(5), Some(6)]);
    let state = engine.state("a").unwrap();
    assert_eq!((state.history.len(), &state.values["count"]), (6, &json!(6)));
    assert_eq!(state.history[5].result.result["count"], 6);
}

#[tokio::test]
async fn failures_of_calls_are_results() {
    let Fixture { engine, .. } = &fixture();
    let session = engine.setup("a", JsonObject::new()).unwrap();
    let results =
        engine.execute(session.name(), calls(&["cuont", "secret", "panic", "count"])).await.unwrap();
    let kinds: Vec<_> = results.iter().map(|result| result.error.as_ref().map(|error| error.kind)).collect();
    let expected = [ErrorKind::UnknownTool, ErrorKind::Denied, ErrorKind::Internal];
    assert_eq!(kinds, [expected.map(Some).as_slice(), &[None]].concat());
    assert_eq!(engine.state("a").unwrap().history.len(), 4);
}

#[tokio::test]
async fn a_simulation_leaves_the_session_as_it_was() {
    let Fixture { engine, .. } = &fixture();
    let _session = engine.setup("a", JsonObject::new()).unwrap();
    engine.execute("a", calls(&["count"])).await.unwrap();
    let before = engine.state("a").unwrap();
    for polls in 1.. {
        let simulated = dropped_after(polls, engine.simulate("a", calls(&["count", "count", "look"]))).await;
        let Some(results) = simulated else {
            assert_eq!(engine.state("a").unwrap(), before, "after {polls} polls");
            continue;
        };
        assert_eq!(counts(&results.unwrap()), [Some(2), Some(3), Some(4)]);
        break;
    }
    assert_eq!(engine.state("a").unwrap(), before);
    assert_eq!(counts(&engine.execute("a", calls(&["count"])).await.unwrap()), [Some(2)]);
}

#[tokio::test]
async fn a_simulation_makes_no_call_that_cannot_be_undone() {
    let Fixture { engine, counter, .. } = &fixture();
    let _session = engine.setup("a", JsonObject::new()).unwrap();
    let results = engine.simulate("a", calls(&["hang", "unknown"])).await.unwrap();
    let error = results[0].error.as_ref().unwrap();
    insta::assert_snapshot!(error, @"denied: `t::hang` may have effects that cannot be undone, so it is not simulated (execute the call instead)");
    assert_eq!(results[1].error.as_ref().unwrap().kind, ErrorKind::UnknownTool);
    assert_eq!(counter.running.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_session_starts_from_a_copy_of_the_state_of_another() {
    let Fixture { engine, .. } = &fixture();
    let _a = engine.setup("a", serde_json::from_value::<JsonObject>(json!({"count": 41})).unwrap()).unwrap();
    assert_eq!(counts(&engine.execute("a", calls(&["count"])).await.unwrap()), [Some(42)]);
    let _b = engine.setup("b", engine.state("a").unwrap()).unwrap();
    assert_eq!(counts(&engine.execute("b", calls(&["count"])).await.unwrap()), [Some(43)]);
    assert_eq!(engine.state("a").unwrap().values["count"], 42);
    assert_eq!(engine.state("b").unwrap().history.len(), 2);
}

#[tokio::test]
async fn only_a_session_that_is_active_runs_calls() {
    let Fixture { engine, ended, .. } = &fixture();
    let not_active = SessionError::NotActive { session: "a".into() };
    assert_eq!(engine.execute("a", calls(&["count"])).await, Err(not_active.clone()));
    assert_eq!(engine.simulate("a", calls(&["count"])).await, Err(not_active.clone()));
    assert_eq!(engine.state("a"), Err(not_active.clone()));
    let session = engine.setup("a", JsonObject::new()).unwrap();
    let error = engine.setup("a", JsonObject::new()).unwrap_err();
    assert_eq!(error, SessionError::AlreadyActive { session: "a".into() });
    engine.teardown("a").unwrap();
    drop(session);
    assert_eq!(engine.teardown("a"), Err(not_active));
    assert_eq!(*ended.lock(), ["a"]);
    engine.setup("a", JsonObject::new()).map(drop).unwrap();
}

#[tokio::test]
async fn a_session_ends_after_a_panic_and_a_cancellation() {
    let Fixture { engine, counter, ended, .. } = &fixture();
    let panicking = AssertUnwindSafe(async {
        let _session = engine.setup("a", JsonObject::new()).unwrap();
        engine.execute("a", calls(&["count"])).await.unwrap();
        panic!("the pipeline breaks");
    });
    panicking.catch_unwind().await.unwrap_err();
    let cancelled = async {
        let _session = engine.setup("b", JsonObject::new()).unwrap();
        engine.execute("b", calls(&["hang"])).await
    };
    tokio::select! {
        _ = cancelled => unreachable!("the call hangs"),
        () = counter.started.notified() => {}
    }
    assert_eq!(counter.running.load(Ordering::SeqCst), 0);
    assert_eq!(*ended.lock(), ["a", "b"]);
    assert_eq!(format!("{:?}", engine.states), "SessionStates { sessions: 0 }");
}

#[tokio::test]
async fn the_end_of_a_session_cancels_its_calls() {
    let Fixture { engine, counter, .. } = &fixture();
    let _session = engine.setup("a", JsonObject::new()).unwrap();
    let (outcome, ()) = tokio::join!(engine.execute("a", calls(&["hang"])), async {
        counter.started.notified().await;
        engine.teardown("a").unwrap();
        // Another session of the name gets nothing of the first one.
        std::mem::forget(engine.setup("a", JsonObject::new()).unwrap());
    });
    assert_eq!(outcome, Err(SessionError::NotActive { session: "a".into() }));
    assert!(engine.state("a").unwrap().history.is_empty());
}

#[tokio::test]
async fn a_state_and_a_history_are_bounded() {
    let Fixture { engine, .. } = &fixture();
    let large: JsonObject = serde_json::from_value(json!({"text": "x".repeat(MAX_STATE_BYTES)})).unwrap();
    assert!(matches!(engine.setup("a", large), Err(SessionError::StateTooLarge { .. })));
    let session = engine.setup("a", JsonObject::new()).unwrap();
    let many = vec![ToolCall::new("t::count", JsonObject::new()); MAX_HISTORY_CALLS + 1];
    let full = engine.execute(session.name(), many).await;
    assert_eq!(full, Err(SessionError::HistoryFull { session: "a".into(), limit: MAX_HISTORY_CALLS }));
    assert!(engine.state("a").unwrap().history.is_empty());
}
