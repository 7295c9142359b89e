//! Test setup: a store on disk, and a tool caller that records the time of each call.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{Timestamp, Zoned};
use parking_lot::Mutex;
use serde_json::json;
use tempfile::TempDir;
use toolcrib_model::{ErrorKind, JsonObject, QualifiedName, Tool, ToolCall, ToolError, ToolResult};
use toolcrib_port::{CallContext, Catalogue, ToolCaller};
use toolcrib_tasks::schedule::{ScheduleRequest, ScheduleSettings, ScheduleTime};
use toolcrib_tasks::store::SqliteStore;
use toolcrib_tasks::watch::WatcherSettings;
use toolcrib_tasks::{Action, Schedules, Services, Store, SystemClock, TaskPorts, Watchers};

/// The times of calls, with their arguments.
#[derive(Clone, Default)]
pub(crate) struct Entrance(pub(crate) Arc<Mutex<Vec<(Timestamp, JsonObject)>>>);

#[async_trait]
impl ToolCaller for Entrance {
    async fn call(&self, call: ToolCall, _context: &CallContext) -> ToolResult {
        self.0.lock().push((Timestamp::now(), call.arguments));
        ToolResult::ok(call.call_id, call.name, json!({"level": 3}))
    }

    fn catalogue(&self) -> &dyn Catalogue {
        self
    }
}

impl Catalogue for Entrance {
    fn find_tools(&self, _name: &str, _context: &CallContext) -> Result<Vec<Arc<Tool>>, ToolError> {
        let name = QualifiedName::new("shop", "machine");
        let name = name.map_err(|error| ToolError::new(ErrorKind::Internal, error.to_string()))?;
        Ok(vec![Arc::new(Tool::new(name))])
    }

    fn may_repeat(&self, _call: &ToolCall, _context: &CallContext) -> bool {
        true
    }
}

pub(crate) struct Shop {
    pub(crate) services: Arc<Services>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) schedules: Schedules,
    pub(crate) watchers: Watchers,
    pub(crate) entrance: Entrance,
    /// The number of schedules created.
    made: AtomicUsize,
    _folder: TempDir,
}

impl Shop {
    pub(crate) async fn open() -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::open(folder.path().join("tasks.db"), false).await?.store);
        let entrance = Entrance::default();
        let ports = TaskPorts { tool_caller: Some(Arc::new(entrance.clone())), ..TaskPorts::default() };
        let services =
            Arc::new(Services::open(Arc::clone(&store), Arc::new(SystemClock), false, ports).await?);
        let schedules = Schedules::open(Arc::clone(&services), ScheduleSettings::default()).await?;
        let mut settings = WatcherSettings::default();
        settings.max_per_session = 2_000;
        let watchers = Watchers::open(Arc::clone(&services), settings).await?;
        schedules.resume().await?;
        watchers.resume()?;
        Ok(Self {
            services,
            store,
            schedules,
            watchers,
            entrance,
            made: AtomicUsize::new(0),
            _folder: folder,
        })
    }

    /// Creates a schedule of a call at this time, in one of as many sessions as the limit per session requires.
    pub(crate) async fn schedule(&self, due: Zoned) -> Result<(), Box<dyn Error>> {
        let params = JsonObject::from_iter([("due".to_owned(), json!(due.timestamp().to_string()))]);
        let action = Action::ToolCall { tool: "shop.machine".to_owned(), params };
        let session = self.made.fetch_add(1, Ordering::Relaxed) / ScheduleSettings::default().max_per_session;
        let context = CallContext::new(format!("bench-{session}")).with_agent("clerk");
        self.schedules.create(ScheduleRequest::new(ScheduleTime::Once(due), action), &context).await?;
        Ok(())
    }

    pub(crate) async fn close(self) {
        self.services.stop_intake();
        self.watchers.close(Duration::ZERO).await;
        self.schedules.close(Duration::ZERO).await;
        self.store.close().await;
    }
}

pub(crate) fn context() -> CallContext {
    CallContext::new("bench").with_agent("clerk")
}
