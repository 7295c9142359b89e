//! The layer of tasks alone: `cargo run --example tasks-only`.
//!
//! It calls tools through any [`ToolCaller`], here one with a single tool, and stores its work in a file: acknowledged
//! work survives a crash.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Zoned;
use serde_json::json;
use toolcrib_model::{ErrorKind, JsonObject, QualifiedName, Tool, ToolCall, ToolError, ToolResult};
use toolcrib_port::{CallContext, Catalogue, ToolCaller};
use toolcrib_tasks::background::BackgroundSettings;
use toolcrib_tasks::schedule::{ScheduleRequest, ScheduleSettings, ScheduleTime};
use toolcrib_tasks::store::SqliteStore;
use toolcrib_tasks::time::parse_time;
use toolcrib_tasks::watch::{NotifyWhen, WatchRequest, WatcherSettings};
use toolcrib_tasks::{Action, Background, Schedules, Services, SystemClock, TaskPorts, Watchers};

/// The name of its tool.
const TEMPERATURE: &str = "oven.temperature";

/// A thermometer on which it gets warmer with each look.
#[derive(Default)]
struct Thermometer(AtomicU64);

#[async_trait]
impl ToolCaller for Thermometer {
    async fn call(&self, call: ToolCall, _context: &CallContext) -> ToolResult {
        let degrees = 20 + self.0.fetch_add(1, Ordering::Relaxed);
        ToolResult::ok(call.call_id, call.name, json!({"degrees": degrees}))
    }

    fn catalogue(&self) -> &dyn Catalogue {
        self
    }
}

impl Catalogue for Thermometer {
    // A watcher is not started for a tool that is not there.
    fn find_tools(&self, name: &str, _context: &CallContext) -> Result<Vec<Arc<Tool>>, ToolError> {
        let unknown = || ToolError::new(ErrorKind::UnknownTool, format!("there is no tool `{name}`"));
        let tool = QualifiedName::new("oven", "temperature").ok().filter(|tool| tool.dotted() == name);
        Ok(vec![Arc::new(Tool::new(tool.ok_or_else(unknown)?))])
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let store = SqliteStore::open(folder.path().join("tasks.db"), false).await?.store;
    let ports = TaskPorts { tool_caller: Some(Arc::new(Thermometer::default())), ..TaskPorts::default() };
    let services = Arc::new(Services::open(Arc::new(store), Arc::new(SystemClock), false, ports).await?);
    let background = Background::open(Arc::clone(&services), BackgroundSettings::default()).await?;
    let schedules = Schedules::open(Arc::clone(&services), ScheduleSettings::default()).await?;
    let watchers = Watchers::open(Arc::clone(&services), WatcherSettings::default()).await?;
    // What a crash has left under way is taken up here.
    background.resume().await?;
    schedules.resume().await?;
    watchers.resume()?;

    // A call in the background.
    let context = CallContext::new("kitchen");
    let look = || ToolCall::new(TEMPERATURE, JsonObject::new());
    let task = background.launch(look(), &context).await?;
    let ended = background.wait(&task.task_id, Duration::from_secs(5), &context).await?;
    println!("in the background: {}", json!(ended.result));

    // A call that is made again and again, until its result is what is waited for.
    let mut watched = WatchRequest::new(TEMPERATURE, JsonObject::new());
    watched.notify_when = NotifyWhen::OnThreshold;
    watched.condition = Some("$.degrees > 20".to_owned());
    let watcher = watchers.start(watched, &context).await?;

    // Something that is to be told later.
    let reminder = Action::Notification { message: "Take the bread out.".to_owned(), channel: None };
    let when = ScheduleTime::Once(parse_time("in 1s", &Zoned::now())?);
    schedules.create(ScheduleRequest::new(when, reminder), &context).await?;

    let mut told = 0;
    while told < 2 {
        let news = services.notifications().changed();
        for notification in services.notifications().take("kitchen").await {
            println!("told: {}", notification.text);
            told += 1;
        }
        if told < 2 {
            tokio::time::timeout(Duration::from_secs(10), news).await?;
        }
    }
    watchers.stop(&watcher.watcher_id, &context).await?;
    services.stop_intake();
    background.close(Duration::from_secs(10)).await;
    Ok(())
}
