//! What schedules promise.

mod crashes;
mod drops;
mod faulty;
mod runs;
mod shared;
mod times;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolcrib_exec::{DenyAll, Executor};
use toolcrib_model::{JsonObject, Risk, ToolError};
use toolcrib_port::{Approver, CallContext};
use toolcrib_sdk::{FunctionTool, Module};

use super::*;
use crate::store::{MemoryStore, RecordKind};
use crate::testing::{self, TestClock};
use crate::time::Cron;
use crate::{Clock as _, Prompter, Store, TaskPorts};

/// Where every test begins, unless it says otherwise: a Sunday, at nine.
const START: &str = "2026-03-01T09:00:00Z";

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A run that a tool has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    tool: &'static str,
    key: String,
    at: Timestamp,
}

/// A process with a shop whose tools write down that they were called.
struct World {
    executor: Arc<Executor>,
    schedules: Schedules,
    services: Arc<Services>,
    clock: Arc<TestClock>,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// Lets `machine` and `mill` end.
    end: Arc<Notify>,
}

/// How a process is set up.
struct Setup {
    store: Arc<dyn Store>,
    clock: Arc<TestClock>,
    rules: Value,
    approver: Arc<dyn Approver>,
    prompter: Option<Arc<dyn Prompter>>,
    /// Whether the sessions of the tests belong to a client that is not known any more.
    is_revoked: bool,
    settings: ScheduleSettings,
    is_shared: bool,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Setup {
    fn at(time: &str) -> Self {
        Self {
            store: Arc::new(MemoryStore::new()),
            clock: Arc::new(TestClock::at(time)),
            rules: json!({"default_policy": "grant"}),
            approver: Arc::new(DenyAll),
            prompter: None,
            is_revoked: false,
            settings: ScheduleSettings { time_zone: TimeZone::UTC, ..ScheduleSettings::default() },
            is_shared: false,
            seen: Arc::default(),
        }
    }

    /// A process that is killed and started again is another with the same store.
    async fn start(&self) -> World {
        let end = Arc::new(Notify::new());
        let tool = |name: &'static str, is_idempotent: bool, waits: bool| {
            let (end, seen, clock) = (Arc::clone(&end), Arc::clone(&self.seen), Arc::clone(&self.clock));
            FunctionTool::new(name, "Makes something.", move |_: Nothing, context: CallContext| {
                let (end, seen, clock) = (Arc::clone(&end), Arc::clone(&seen), Arc::clone(&clock));
                async move {
                    let key = context.run_key.as_deref().unwrap_or_default().to_owned();
                    seen.lock().push(Seen { tool: name, key, at: clock.now() });
                    if waits {
                        end.notified().await;
                    }
                    Ok::<_, ToolError>(json!({"made": 7}))
                }
            })
            .with_risk(Risk::Low)
            .with_side_effects(["makes"])
            .with_metadata("idempotent", is_idempotent)
            // Longer than any run here, so that only the schedule ends it.
            .with_metadata("timeout_seconds", 86_400)
        };
        let module = Module::new("shop", "Makes things.")
            .with_tool(tool("order", false, false))
            .with_tool(tool("sync", true, false))
            .with_tool(tool("machine", false, true))
            .with_tool(tool("mill", true, true));
        let mut policy = testing::policy(&self.rules);
        if self.is_revoked {
            policy = policy.with_unknown_denied("s", "the tests");
        }
        let executor = testing::executor_with(module, policy, Arc::clone(&self.approver)).await;
        let ports = TaskPorts { prompter: self.prompter.clone(), ..testing::ports(&executor) };
        let services =
            Services::open(Arc::clone(&self.store), self.clock.clone(), self.is_shared, ports).await;
        let services = Arc::new(services.unwrap());
        let schedules = Schedules::open(Arc::clone(&services), self.settings.clone()).await.unwrap();
        schedules.resume().await.unwrap();
        let (clock, seen) = (Arc::clone(&self.clock), Arc::clone(&self.seen));
        World { executor, schedules, services, clock, seen, end }
    }
}

impl World {
    async fn new() -> Self {
        Setup::at(START).start().await
    }

    async fn once(&self, when: &str, action: Action) -> String {
        let time = ScheduleTime::Once(crate::time::parse_time(when, &self.schedules.now(None)).unwrap());
        self.create(ScheduleRequest::new(time, action)).await
    }

    async fn cron(&self, pattern: &str, tool: &str) -> String {
        self.create(cron(pattern, "UTC", tool)).await
    }

    async fn create(&self, request: ScheduleRequest) -> String {
        self.schedules.create(request, &context()).await.unwrap().schedule_id
    }

    async fn status(&self, id: &str) -> ScheduleStatus {
        self.schedules.status(id, &context()).await.unwrap()
    }

    async fn outcome(&self, id: &str) -> RunOutcome {
        self.status(id).await.last_run.unwrap().outcome
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    /// When the tools were called.
    fn times(&self) -> Vec<String> {
        self.seen().iter().map(|seen| seen.at.to_string()).collect()
    }

    /// How many calls there were.
    fn count(&self) -> usize {
        self.seen.lock().len()
    }

    async fn told(&self) -> Vec<String> {
        self.services.notifications.take("s").await.into_iter().map(|told| told.text).collect()
    }

    /// Ends the process, as far as a test can: it starts nothing more.
    fn kill(&self) {
        self.services.stop_intake();
    }
}

/// Lets time pass, which is virtual: all that is due meanwhile happens in its order.
async fn pass(time: Duration) {
    // Nothing happens that could end it sooner.
    let _ = tokio::time::timeout(time, std::future::pending::<()>()).await;
}

/// Lets what can go on without time passing do so.
async fn settle() {
    pass(Duration::from_millis(2)).await;
}

fn context() -> CallContext {
    CallContext::new("s").with_agent("clerk")
}

fn call(tool: &str) -> Action {
    Action::ToolCall { tool: tool.to_owned(), params: JsonObject::new() }
}

fn note(message: &str) -> Action {
    Action::Notification { message: message.to_owned(), channel: None }
}

fn cron(pattern: &str, zone: &str, tool: &str) -> ScheduleRequest {
    let cron = Cron::parse(pattern, &TimeZone::get(zone).unwrap()).unwrap();
    ScheduleRequest::new(ScheduleTime::Cron(Box::new(cron)), call(tool))
}

const fn minutes(minutes: u64) -> Duration {
    Duration::from_mins(minutes)
}

const fn hours(hours: i64) -> SignedDuration {
    SignedDuration::from_hours(hours)
}
