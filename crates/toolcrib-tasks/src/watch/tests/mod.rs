//! What watchers promise.

mod checks;
mod crashes;
mod drops;
mod durable;
mod follow;
mod modes;
mod sharing;
mod tools;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use jiff::Timestamp;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolcrib_exec::{DenyAll, Executor};
use toolcrib_model::{ErrorKind, JsonObject, Risk, ToolCall, ToolError, ToolResult};
use toolcrib_port::{Approver, CallContext, Catalogue, ToolCaller};
use toolcrib_sdk::{FunctionTool, Module};

use super::*;
use crate::channels::Message;
use crate::store::{Change, MemoryStore, Record, RecordKind};
use crate::testing::{self, TestClock};
use crate::{Action, Channel, Prompter, Store, TaskPorts};

const START: &str = "2026-03-01T09:00:00Z";

#[derive(Deserialize, JsonSchema)]
struct Anything {
    #[serde(default)]
    value: Value,
}

/// What the tools of a plant do, and what they were asked.
#[derive(Default)]
struct Plant {
    /// What the gauge shows next; the last one stays.
    script: Mutex<VecDeque<Result<Value, String>>>,
    /// The run keys of its checks.
    keys: Mutex<Vec<String>>,
    /// The arguments that the bell was rung with, and their run keys.
    rings: Mutex<Vec<(Value, String)>>,
    /// Whether calls wait for the word to go on.
    is_slow: AtomicBool,
    go_on: Notify,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
}

impl Plant {
    fn shows<const N: usize>(&self, values: [Value; N]) {
        *self.script.lock() = values.into_iter().map(Ok).collect();
    }

    fn fails(&self, errors: &[&str]) {
        *self.script.lock() = errors.iter().map(|error| Err((*error).to_owned())).collect();
    }

    async fn read(&self, context: &CallContext) -> Result<Value, ToolError> {
        let at_once = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_once.fetch_max(at_once, Ordering::SeqCst);
        self.keys.lock().push(context.run_key.as_deref().unwrap().to_owned());
        if self.is_slow.load(Ordering::SeqCst) {
            self.go_on.notified().await;
        }
        self.at_once.fetch_sub(1, Ordering::SeqCst);
        let mut script = self.script.lock();
        let next = if script.len() > 1 { script.pop_front() } else { script.front().cloned() };
        next.unwrap_or(Ok(Value::Null)).map_err(|error| ToolError::new(ErrorKind::ToolFailed, error))
    }

    fn calls(&self) -> usize {
        self.keys.lock().len()
    }

    fn rings(&self) -> Vec<Value> {
        self.rings.lock().iter().map(|(value, _)| value.clone()).collect()
    }

    fn module(self: &Arc<Self>) -> Module {
        let reader = |name: &str| {
            let plant = Arc::clone(self);
            FunctionTool::new(name, "Reads the gauge.", move |_: Anything, context: CallContext| {
                let plant = Arc::clone(&plant);
                async move { plant.read(&context).await }
            })
            .with_risk(Risk::Low)
        };
        let ringer = |name: &str| {
            let plant = Arc::clone(self);
            FunctionTool::new(name, "Rings the bell.", move |given: Anything, context: CallContext| {
                let plant = Arc::clone(&plant);
                async move {
                    let key = context.run_key.as_deref().unwrap().to_owned();
                    plant.rings.lock().push((given.value, key));
                    Ok::<_, ToolError>(json!("rung"))
                }
            })
            .with_risk(Risk::Low)
            .with_side_effects(["sound"])
        };
        Module::new("plant", "A plant.")
            .with_tool(reader("gauge"))
            .with_tool(reader("probe").with_side_effects(["wear"]))
            .with_tool(ringer("bell"))
            .with_tool(ringer("lamp").with_metadata("idempotent", true))
            .with_tool(reader("secret"))
    }
}

/// The entrance of one executor, or of another once the rules have changed.
struct Gate {
    executors: [Arc<Executor>; 2],
    entrances: [Arc<dyn ToolCaller>; 2],
    is_later: AtomicBool,
}

impl Gate {
    fn entrance(&self) -> &dyn ToolCaller {
        self.entrances[usize::from(self.is_later.load(Ordering::SeqCst))].as_ref()
    }
}

#[async_trait]
impl ToolCaller for Gate {
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult {
        self.entrance().call(call, context).await
    }

    fn catalogue(&self) -> &dyn Catalogue {
        self.entrance().catalogue()
    }
}

/// A channel that writes down what it is sent, or does not take it.
#[derive(Default)]
struct Line {
    sent: Mutex<Vec<String>>,
    is_down: AtomicBool,
}

#[async_trait]
impl Channel for Line {
    async fn send(&self, message: &Message<'_>) -> Result<(), ToolError> {
        if self.is_down.load(Ordering::SeqCst) {
            return Err(ToolError::new(ErrorKind::Unavailable, "the line is dead"));
        }
        self.sent.lock().push(message.text.to_owned());
        Ok(())
    }
}

/// One life of a program that watches a plant.
struct Office {
    plant: Arc<Plant>,
    gate: Arc<Gate>,
    line: Arc<Line>,
    clock: Arc<TestClock>,
    services: Arc<Services>,
    watchers: Watchers,
    store: Arc<dyn Store>,
}

struct Setup {
    plant: Arc<Plant>,
    store: Arc<dyn Store>,
    settings: WatcherSettings,
    start: &'static str,
    is_shared: bool,
    /// Whether the sessions of the tests belong to a client that is not known any more.
    is_revoked: bool,
    /// Who is asked about the bell; it is granted where nobody is.
    approver: Option<Arc<dyn Approver>>,
    prompter: Option<Arc<dyn Prompter>>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            plant: Arc::default(),
            store: Arc::new(MemoryStore::new()),
            settings: WatcherSettings::default(),
            start: START,
            is_shared: false,
            is_revoked: false,
            approver: None,
            prompter: None,
        }
    }
}

impl Setup {
    async fn open(self) -> Office {
        let Self { plant, store, settings, start, is_shared, is_revoked, approver, prompter } = self;
        let asked: &[Value] =
            if approver.is_some() { &[json!({"module": "plant", "actions": ["bell"]})] } else { &[] };
        let deny = |denied: &[&str]| json!({"default_policy": "grant", "approve": asked, "deny": [{"module": "plant", "actions": denied}]});
        let approver = approver.unwrap_or_else(|| Arc::new(DenyAll));
        let policy = |denied: &[&str]| {
            let policy = testing::policy(&deny(denied));
            if is_revoked { policy.with_unknown_denied("s", "the tests") } else { policy }
        };
        let now = testing::executor_with(plant.module(), policy(&["secret"]), approver).await;
        let later = testing::executor_under(plant.module(), policy(&["secret", "gauge", "probe"])).await;
        let gate = Arc::new(Gate {
            entrances: [now.tool_caller(), later.tool_caller()],
            executors: [now, later],
            is_later: AtomicBool::new(false),
        });
        let clock = Arc::new(TestClock::at(start));
        let line = Arc::new(Line::default());
        let channels = [("line".to_owned(), Arc::clone(&line) as _)].into();
        let ports = TaskPorts {
            tool_caller: Some(Arc::clone(&gate) as _),
            prompter,
            channels,
            ..TaskPorts::default()
        };
        let services = Services::open(Arc::clone(&store), clock.clone(), is_shared, ports).await.unwrap();
        let services = Arc::new(services);
        let watchers = Watchers::open(Arc::clone(&services), settings).await.unwrap();
        watchers.resume().unwrap();
        Office { plant, gate, line, clock, services, watchers, store }
    }
}

impl Office {
    async fn new() -> Self {
        Setup::default().open().await
    }

    async fn start(&self, request: Value) -> String {
        self.try_start(request).await.unwrap().watcher_id
    }

    async fn try_start(&self, request: Value) -> Result<WatcherStatus, ToolError> {
        let mut request = request;
        let defaults = [("name", json!("plant.gauge")), ("interval", json!(10))];
        for (key, default) in defaults {
            request.as_object_mut().unwrap().entry(key).or_insert(default);
        }
        self.watchers.start(serde_json::from_value(request).unwrap(), &context()).await
    }

    /// Comes back when so many checks have been made, and what follows them.
    async fn checked(&self, id: &str, checks: u64) {
        let is_there = |_: &usize| {
            self.live(id).is_none_or(|live| live.task().metrics.checks >= checks && !live.is_running())
        };
        self.watchers.inner.ledger.running().wait_for(is_there).await.unwrap();
    }

    /// The watcher as this process knows it, if it does.
    fn live(&self, id: &str) -> Option<Arc<LiveWatcher>> {
        self.watchers.inner.ledger.get(id).ok()
    }

    async fn status(&self, id: &str) -> WatcherStatus {
        self.watchers.status(id, &context()).await.unwrap()
    }

    /// What the session was told, without the ids, which are random.
    async fn told(&self) -> Vec<String> {
        let told = self.services.notifications.take("s").await;
        let ids: Vec<String> =
            self.watchers.inner.ledger.all().iter().map(|live| live.id.to_string()).collect();
        let plain = |text: String| ids.iter().fold(text, |text, id| text.replace(id, "watch_1"));
        told.into_iter().map(|told| plain(told.text)).collect()
    }

    fn ring(action: &str) -> Value {
        json!([{"type": "tool_call", "tool": action, "params": {"value": "{{value}}"}}])
    }
}

fn context() -> CallContext {
    CallContext::new("s").with_agent("clerk")
}
