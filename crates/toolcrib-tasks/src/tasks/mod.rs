//! The tasks of an app: background calls, watchers and schedules, and their store.

mod location;
mod operator;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use toolcrib_model::{Secret, ToolError};
use toolcrib_port::ToolCaller;
use toolcrib_script::engine::{Pause, ScriptRun};
use toolcrib_script::{Script, ScriptEngine, ScriptError, ScriptLimits};
use toolcrib_sdk::FunctionTool;

use self::location::TaskLocation;
use crate::background::{BackgroundSettings, BackgroundingCaller};
use crate::channels::channel_tools;
use crate::notifications::MAX_NOTIFICATIONS;
use crate::schedule::ScheduleSettings;
use crate::scripts::{ScriptSettings, Scripts};
use crate::store::{MemoryStore, StoreError};
use crate::watch::WatcherSettings;
use crate::{
    ActionSupport, Background, Notifications, OperatorRequest, Scheduler, Schedules, Services, Store,
    SystemClock, TaskPorts, Watchers,
};

pub use self::operator::{OwnedTask, TaskSummary};

/// The time that tasks have to end when an app is closed.
pub const DRAIN_TIME: Duration = Duration::from_secs(10);

/// The store of the tasks of an app, and the process that makes due runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskStore {
    /// With this process, which makes them; they end with it.
    #[default]
    Process,
    /// On the disk, for the next process that runs the app: this process makes no due runs.
    Kept,
    /// On the disk, and this process makes the runs that are due.
    Resident,
    /// On the disk, to inspect tasks and to end them, while another process may run them.
    Operator,
}

/// The location of a store on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreLocation {
    /// A file of SQLite.
    File(PathBuf),
    /// The URL of a database of PostgreSQL, with its credentials.
    Postgres(Secret),
}

/// The settings of the tasks of an app.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TaskSettings {
    /// The kind of the store.
    pub mode: TaskStore,
    /// The location of the store; without one, tasks end with the process.
    pub location: Option<StoreLocation>,
    /// True if several processes share the store. They always share one in PostgreSQL.
    pub is_shared: bool,
    /// True if agents can create watchers.
    pub watchers: bool,
    /// True if agents can create schedules.
    pub schedules: bool,
    /// The callers and limits of scripts. The app needs an engine for them.
    pub scripts: ScriptSettings,
    /// The time after which a call of an agent continues in the background.
    pub background_after: Option<Duration>,
    /// The kinds of actions that the app supports.
    pub means: ActionSupport,
}

impl TaskSettings {
    /// Returns true if the store is in a database server. Then tasks of one process are tasks of all, and cannot end with
    /// this process instead.
    fn is_on_server(&self) -> bool {
        matches!(self.location, Some(StoreLocation::Postgres(_)))
    }
}

/// The engine of an operator, who runs no scripts.
struct NoEngine;

#[async_trait]
impl ScriptEngine for NoEngine {
    fn version(&self) -> &'static str {
        "none"
    }

    async fn start(
        &self,
        _script: &Script,
        _limits: &ScriptLimits,
    ) -> Result<(Box<dyn ScriptRun>, Pause), ScriptError> {
        Err(ScriptError::Worker { problem: "an operator runs no scripts".into() })
    }
}

/// The tasks of an app.
pub struct Tasks {
    settings: TaskSettings,
    services: Arc<Services>,
    store: Arc<dyn Store>,
    background: Background,
    watchers: Option<Watchers>,
    schedules: Option<Schedules>,
    scripts: Option<Scripts>,
    /// True if another process runs them, and this one only inspects them.
    is_beside: bool,
    warnings: Vec<String>,
}

impl Tasks {
    /// Opens the tasks of an app with their store. Where they cannot be stored in a file, they end with this process, and a
    /// warning says so. A database server that cannot be reached is an error.
    pub async fn open(settings: TaskSettings, ports: TaskPorts) -> Result<Self, StoreError> {
        let TaskLocation { store, is_beside, mut warnings } = location::open(&settings).await?;
        let opened = match Self::with_store(settings.clone(), ports.clone(), store).await {
            Err(error) if settings.mode != TaskStore::Operator && !settings.is_on_server() => {
                warnings.push(location::not_kept(&error));
                Self::with_store(settings, ports, Arc::new(MemoryStore::new())).await?
            }
            opened => opened?,
        };
        Ok(Self { is_beside, warnings, ..opened })
    }

    async fn with_store(
        settings: TaskSettings,
        ports: TaskPorts,
        store: Arc<dyn Store>,
    ) -> Result<Self, StoreError> {
        let clock = Arc::new(SystemClock);
        let is_shared = settings.is_shared || settings.is_on_server();
        let services = Arc::new(Services::open(Arc::clone(&store), clock, is_shared, ports).await?);
        let background = Background::open(Arc::clone(&services), BackgroundSettings::default()).await?;
        // An operator also sees tasks of kinds that agents may no longer create.
        let is_looking = settings.mode == TaskStore::Operator;
        let watchers = if settings.watchers || is_looking {
            Some(Watchers::open(Arc::clone(&services), WatcherSettings::default()).await?)
        } else {
            None
        };
        let schedules = if settings.schedules || is_looking {
            Some(Schedules::open(Arc::clone(&services), ScheduleSettings::default()).await?)
        } else {
            None
        };
        let callers = settings.scripts.callers;
        let engine = services.script_engine().filter(|_| callers.agents || callers.clients).cloned();
        let engine = if is_looking { Some(Arc::new(NoEngine) as _) } else { engine };
        let scripts = match engine {
            Some(engine) => Some(Scripts::open(Arc::clone(&services), engine, settings.scripts).await?),
            None => None,
        };
        let (is_beside, warnings) = (false, Vec::new());
        Ok(Self { settings, services, store, background, watchers, schedules, scripts, is_beside, warnings })
    }

    /// Returns the tools that make background calls and watchers, send messages, and run scripts.
    pub fn tools(&self) -> Vec<FunctionTool> {
        let mut tools = self.background.tools();
        tools.extend(channel_tools(&self.services));
        tools.extend(self.watchers.iter().flat_map(Watchers::tools));
        tools.extend(self.scripts.iter().flat_map(Scripts::tools));
        tools
    }

    /// Returns the store if other processes may have it open too.
    pub fn shared_store(&self) -> Option<Arc<dyn Store>> {
        self.services.is_shared().then(|| Arc::clone(&self.store))
    }

    /// Returns the store if its records survive the end of this process, which alone has it open to run tasks.
    pub fn durable_store(&self) -> Option<Arc<dyn Store>> {
        let is_own = self.store.is_durable() && !self.is_beside && !self.services.is_shared();
        is_own.then(|| Arc::clone(&self.store))
    }

    /// Returns the tools of schedules.
    pub fn scheduler(&self) -> Scheduler {
        let scheduler = Scheduler::new(self.settings.means);
        self.schedules.iter().cloned().fold(scheduler, Scheduler::with_schedules)
    }

    /// Resumes stored tasks.
    pub async fn start(self: &Arc<Self>) -> Result<(), ToolError> {
        if !matches!(self.settings.mode, TaskStore::Process | TaskStore::Resident) {
            return Ok(());
        }
        self.background.resume().await?;
        if let Some(schedules) = &self.schedules {
            schedules.resume().await?;
        }
        if let Some(watchers) = &self.watchers {
            watchers.resume()?;
        }
        if let Some(scripts) = &self.scripts {
            scripts.resume_all();
        }
        if self.store.is_durable() {
            let (services, tasks) = (Arc::clone(&self.services), Arc::downgrade(self));
            tokio::spawn(services.serve_requests(async move |OperatorRequest::Cancel(id)| {
                let Some(tasks) = tasks.upgrade() else { return };
                if let Err(error) = tasks.cancel(&id).await {
                    tracing::warn!(%error, %id, "what an operator wants to end has not ended");
                }
            }));
        }
        Ok(())
    }

    /// Wraps a caller to move calls to the background after the time that the app configures, or after `otherwise`.
    pub fn patient(&self, entrance: Arc<dyn ToolCaller>, otherwise: Option<Duration>) -> Arc<dyn ToolCaller> {
        match self.settings.background_after.or(otherwise) {
            Some(after) => Arc::new(BackgroundingCaller::new(entrance, self.background.clone(), after)),
            None => entrance,
        }
    }

    /// Returns the calls in the background.
    pub fn background(&self) -> &Background {
        &self.background
    }

    /// Returns the scripts, if the app runs any.
    pub fn scripts(&self) -> Option<&Scripts> {
        self.scripts.as_ref()
    }

    /// Returns the notifications that sessions read at their next turn.
    pub fn notifications(&self) -> &Arc<Notifications> {
        self.services.notifications()
    }

    /// Takes the notifications for a session without an agent, the oldest first: the first one, and those that fit into
    /// `most_chars` with it. Each is delivered once.
    pub async fn tell_next(&self, session: &str, most_chars: usize) -> Vec<String> {
        let notifications = self.notifications();
        let mut left = most_chars;
        let (mut ids, mut told) = (Vec::new(), Vec::new());
        for (id, notification) in notifications.peek(session, MAX_NOTIFICATIONS).await {
            let text = notification.line();
            let chars = text.chars().count();
            if chars > left && !told.is_empty() {
                break;
            }
            left = left.saturating_sub(chars);
            ids.push(id);
            told.push(text);
        }
        if !ids.is_empty() {
            notifications.read(session, &ids).await;
        }
        told
    }

    /// Comes back when a session is told something, whichever.
    pub fn told(&self) -> impl Future<Output = ()> + Send + use<> {
        self.notifications().changed()
    }

    /// Returns the last of what a session is to be told at its next turn.
    pub async fn latest(&self, session: &str) -> Option<String> {
        let waiting = self.notifications().peek(session, MAX_NOTIFICATIONS).await;
        waiting.into_iter().next_back().map(|(_, notification)| notification.text)
    }

    /// Returns warnings about the store.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Ends the background calls, watchers and scripts of a session that is not continued. Its schedules stay.
    pub async fn end_session(&self, session: &str) {
        self.background.end_session(session).await;
        if let Some(watchers) = &self.watchers {
            watchers.end_session(session).await;
        }
        if let Some(scripts) = &self.scripts {
            scripts.end_session(session).await;
        }
    }

    /// Returns the names of the tasks that run and do not wait for a person. [`close`](Self::close) waits for them.
    pub fn in_progress(&self) -> Vec<String> {
        let mut names = self.background.in_progress();
        names.extend(self.watchers.iter().flat_map(Watchers::in_progress));
        names.extend(self.schedules.iter().flat_map(Schedules::in_progress));
        names.extend(self.scripts.iter().flat_map(Scripts::in_progress));
        names
    }

    /// Starts nothing more, gives what runs [`DRAIN_TIME`] to end, ends the rest and at once what
    /// waits for a person, and closes where they are kept.
    pub async fn close(&self) {
        self.services.stop_intake();
        let watchers = async {
            if let Some(watchers) = &self.watchers {
                watchers.close(DRAIN_TIME).await;
            }
        };
        let schedules = async {
            if let Some(schedules) = &self.schedules {
                schedules.close(DRAIN_TIME).await;
            }
        };
        let scripts = async {
            if let Some(scripts) = &self.scripts {
                scripts.close(DRAIN_TIME).await;
            }
        };
        tokio::join!(self.background.close(DRAIN_TIME), watchers, schedules, scripts);
    }

    /// Closes where they are kept. Nothing can be kept any more.
    pub async fn close_store(&self) {
        self.store.close().await;
    }
}
