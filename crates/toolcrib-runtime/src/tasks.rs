//! Background calls, watchers and schedules, and their store.

mod location;
mod notifications;
mod operator;
mod prompter;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use toolcrib_agent::NotificationQueue;
use toolcrib_app::sections::channels::NamedChannel;
use toolcrib_app::{App, TaskStore};
use toolcrib_exec::Executor;
use toolcrib_port::ToolCaller;
use toolcrib_sdk::FunctionTool;
use toolcrib_tasks::{
    Background, BackgroundSettings, BackgroundingCaller, MAX_NOTIFICATIONS, MemoryStore, OperatorRequest,
    SCHEDULER, ScheduleSettings, Scheduler, Schedules, Services, Store, StoreError, SystemClock,
    WatcherSettings, Watchers, channel_tools,
};

use self::location::TaskLocation;
use self::notifications::SessionNotifications;
use self::prompter::Prompts;
use crate::Error;
use crate::services::AppServices;

pub use self::operator::{OwnedTask, TaskSummary};

/// The time that tasks have to end when an app is closed.
pub const DRAIN_TIME: Duration = Duration::from_secs(10);

/// The tasks of an app.
pub struct Tasks {
    services: Arc<Services>,
    store: Arc<dyn Store>,
    background: Background,
    watchers: Option<Watchers>,
    schedules: Option<Schedules>,
    background_after: Option<Duration>,
    mode: TaskStore,
    /// True if another process runs them, and this one only inspects them.
    is_beside: bool,
    warnings: Vec<String>,
}

/// The parts of an app that its tasks depend on.
struct Opening<'a> {
    app: &'a App,
    mode: TaskStore,
    scheduler: &'a Scheduler,
    channels: &'a [NamedChannel],
    /// The app that runs, whose tools and agents they use; `None` for an operator who only looks at them.
    running: Option<&'a Arc<AppServices>>,
}

impl Tasks {
    /// Opens the tasks of an app that runs.
    pub(crate) async fn open(services: &Arc<AppServices>) -> Result<Self, Error> {
        Opening {
            app: &services.app,
            mode: services.options.tasks,
            scheduler: &services.scheduler,
            channels: &services.channels,
            running: Some(services),
        }
        .open()
        .await
    }

    /// Returns the tools of the runtime's own that make tasks.
    pub(crate) fn tools(&self, services: &AppServices) -> Vec<FunctionTool> {
        let mut tools = self.background.tools();
        tools.extend(channel_tools(&self.services));
        tools.extend(self.watchers.iter().flat_map(Watchers::tools));
        if services.app.config.execution.scheduler {
            tools.extend(services.scheduler.tools());
        }
        tools
    }

    /// Resumes stored tasks.
    pub(crate) async fn start(self: &Arc<Self>) -> Result<(), Error> {
        if !matches!(self.mode, TaskStore::Process | TaskStore::Resident) {
            return Ok(());
        }
        let failed = |error: toolcrib_model::ToolError| Error::Start {
            what: "the tasks".into(),
            message: error.to_string(),
        };
        self.background.resume().await.map_err(failed)?;
        if let Some(schedules) = &self.schedules {
            schedules.resume().await.map_err(failed)?;
        }
        if let Some(watchers) = &self.watchers {
            watchers.resume().map_err(failed)?;
        }
        if self.store.is_durable() {
            let (services, tasks) = (Arc::clone(&self.services), Arc::downgrade(self));
            tokio::spawn(services.serve_requests(async move |request| {
                let Some(tasks) = tasks.upgrade() else { return };
                let OperatorRequest::Cancel(id) = request else { return };
                if let Err(error) = tasks.cancel(&id).await {
                    tracing::warn!(%error, %id, "what an operator wants to end has not ended");
                }
            }));
        }
        Ok(())
    }

    /// Returns the entrance for agents: calls that take long go on in the background where the app says so.
    pub(crate) fn entrance(&self, executor: &Arc<Executor>) -> Arc<dyn ToolCaller> {
        self.patient(executor.tool_caller(), None)
    }

    /// Wraps a caller to move calls to the background after the time that the app configures, or after `otherwise`.
    pub(crate) fn patient(
        &self,
        entrance: Arc<dyn ToolCaller>,
        otherwise: Option<Duration>,
    ) -> Arc<dyn ToolCaller> {
        match self.background_after.or(otherwise) {
            Some(after) => Arc::new(BackgroundingCaller::new(entrance, self.background.clone(), after)),
            None => entrance,
        }
    }

    /// Returns the calls in the background.
    pub fn background(&self) -> &Background {
        &self.background
    }

    /// Returns the queue of notifications that agents read with their next turn.
    pub fn notifications(&self) -> Arc<dyn NotificationQueue> {
        Arc::new(SessionNotifications(Arc::clone(self.services.notifications())))
    }

    /// Takes the notifications for a session without an agent, the oldest first: the first one, and those that fit into
    /// `most_chars` with it. Each is delivered once.
    pub async fn tell_next(&self, session: &str, most_chars: usize) -> Vec<String> {
        let notifications = self.services.notifications();
        let mut left = most_chars;
        let (mut ids, mut told) = (Vec::new(), Vec::new());
        for (id, notification) in notifications.peek(session, MAX_NOTIFICATIONS).await {
            let text = notifications::line(&notification);
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
        self.services.notifications().changed()
    }

    /// Returns the last of what a session is to be told at its next turn.
    pub async fn latest(&self, session: &str) -> Option<String> {
        let waiting = self.services.notifications().peek(session, MAX_NOTIFICATIONS).await;
        waiting.into_iter().next_back().map(|(_, notification)| notification.text)
    }

    /// Returns warnings about the store.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Ends the background calls and watchers of a session that is not continued. Its schedules stay.
    pub(crate) async fn end_session(&self, session: &str) {
        self.background.end_session(session).await;
        if let Some(watchers) = &self.watchers {
            watchers.end_session(session).await;
        }
    }

    /// Starts nothing more, gives what runs [`DRAIN_TIME`] to end, ends the rest, and closes where they are kept.
    pub(crate) async fn close(&self) {
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
        tokio::join!(self.background.close(DRAIN_TIME), watchers, schedules);
    }

    /// Closes where they are kept. Nothing can be kept any more.
    pub(crate) async fn close_store(&self) {
        self.store.close().await;
    }
}

impl Opening<'_> {
    /// Opens where they are kept. Where that cannot be, they are kept with this process, and a warning says so.
    async fn open(&self) -> Result<Tasks, Error> {
        let failed =
            |error: StoreError| Error::Start { what: "the tasks".into(), message: error.to_string() };
        let TaskLocation { store, is_beside, mut warnings } = location::open(self.app, self.mode).await?;
        let mut tasks = match self.over(store).await {
            Err(error) if self.mode != TaskStore::Operator => {
                warnings.push(location::not_kept(&error));
                self.over(Arc::new(MemoryStore::new())).await.map_err(failed)?
            }
            opened => opened.map_err(failed)?,
        };
        (tasks.is_beside, tasks.warnings) = (is_beside, warnings);
        Ok(tasks)
    }

    async fn over(&self, store: Arc<dyn Store>) -> Result<Tasks, StoreError> {
        let execution = &self.app.config.execution;
        let services = Services::open(Arc::clone(&store), Arc::new(SystemClock), execution.shared).await?;
        let add = |services: Services, named: &NamedChannel| {
            services.with_channel(&named.name, Arc::clone(&named.channel))
        };
        let services = Arc::new(self.channels.iter().fold(services, add));
        if let Some(running) = self.running {
            services.set_tool_caller(running.executor.tool_caller());
            if !self.app.config.agents.is_empty() {
                services.set_prompter(Arc::new(Prompts(Arc::downgrade(running))));
            }
        }
        let background = Background::open(Arc::clone(&services), BackgroundSettings::default()).await?;
        // An operator also sees tasks of kinds that agents may no longer create.
        let is_looking = self.mode == TaskStore::Operator;
        let watchers = if execution.watchers || is_looking {
            Some(Watchers::open(Arc::clone(&services), WatcherSettings::default()).await?)
        } else {
            None
        };
        let has_module = self.app.config.modules.contains_key(SCHEDULER);
        let schedules = if execution.scheduler || has_module || is_looking {
            Some(Schedules::open(Arc::clone(&services), ScheduleSettings::default()).await?)
        } else {
            None
        };
        if let Some(schedules) = &schedules {
            self.scheduler.open(schedules);
        }
        let seconds = execution.background_after.map(NonZeroU32::get);
        Ok(Tasks {
            services,
            store,
            background,
            watchers,
            schedules,
            background_after: seconds.map(|seconds| Duration::from_secs(seconds.into())),
            mode: self.mode,
            is_beside: false,
            warnings: Vec::new(),
        })
    }
}
