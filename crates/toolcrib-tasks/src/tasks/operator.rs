//! The tasks of all sessions, for the operator.

use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use toolcrib_model::text::ellipsize_chars;
use toolcrib_model::{ErrorKind, ToolError};

use super::{TaskPorts, TaskSettings, TaskStore, Tasks};
use crate::background::TaskStatus;
use crate::schedule::{ScheduleStatus, ScheduleTimeline};
use crate::scripts::ScriptStatus;
use crate::store::StoreError;
use crate::watch::WatcherStatus;
use crate::{OperatorRequest, WithOwner};

/// The interval of checks of [`Tasks::changed`].
const LOOK: Duration = Duration::from_millis(500);

/// The state of a task that waits for a person.
const WAITING: &str = "waiting_for_approval";

/// The length of a task's description on one line, in characters.
const WHAT_CHARS: usize = 80;

/// A task of any kind, with its owner. As JSON it has its `kind` and an `id` for all kinds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum OwnedTask {
    /// A call in the background.
    Background(WithOwner<TaskStatus>),
    /// A watcher.
    Watcher(WithOwner<WatcherStatus>),
    /// A schedule.
    Schedule(WithOwner<ScheduleStatus>),
    /// A script that is paused, was resumed, or was interrupted.
    Script(WithOwner<ScriptStatus>),
}

/// A task in a few words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskSummary {
    /// Its id.
    pub id: String,
    /// `background`, `watcher`, `schedule` or `script`.
    pub kind: &'static str,
    /// The status.
    pub state: String,
    /// The description of the work.
    pub what: String,
    /// The time of the next run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The session that owns it.
    pub session: String,
}

impl Serialize for OwnedTask {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Tagged<'a, T: Serialize> {
            kind: &'static str,
            id: &'a str,
            #[serde(flatten)]
            task: &'a T,
        }
        match self {
            Self::Background(task) => {
                Tagged { kind: "background", id: &task.task.task_id, task }.serialize(serializer)
            }
            Self::Watcher(task) => {
                Tagged { kind: "watcher", id: &task.task.watcher_id, task }.serialize(serializer)
            }
            Self::Schedule(task) => {
                Tagged { kind: "schedule", id: &task.task.schedule_id, task }.serialize(serializer)
            }
            Self::Script(task) => {
                Tagged { kind: "script", id: &task.task.script_id, task }.serialize(serializer)
            }
        }
    }
}

impl OwnedTask {
    /// Returns the task on one line.
    pub fn summary(&self) -> TaskSummary {
        let (id, kind, state, what, next, session) = match self {
            Self::Background(WithOwner { session, task, .. }) => {
                let what = match &task.progress {
                    Some(progress) => format!("{} ({progress})", task.tool),
                    None => task.tool.clone(),
                };
                (&task.task_id, "background", json!(task.status), what, None, session)
            }
            Self::Watcher(WithOwner { session, task, .. }) => {
                let every = format!("{} every {} s", task.name, task.interval);
                let what =
                    task.label.as_ref().map_or_else(|| every.clone(), |label| format!("{label}: {every}"));
                let next = task.next_check.map(|next| next.strftime("%F %T UTC").to_string());
                (&task.watcher_id, "watcher", json!(task.status), what, next, session)
            }
            Self::Schedule(WithOwner { session, task, .. }) => {
                let label = task.label.as_ref().map(|label| format!("{label}: ")).unwrap_or_default();
                let what = format!("{label}{}, {}", task.action, task.when);
                (
                    &task.schedule_id,
                    "schedule",
                    json!(task.status),
                    what,
                    task.next_runs.first().cloned(),
                    session,
                )
            }
            Self::Script(WithOwner { session, task, .. }) => {
                let waiting: Vec<_> = task.waiting_for.iter().map(|call| call.tool.as_str()).collect();
                let what = match waiting.as_slice() {
                    [] => format!("{} calls", task.calls),
                    waiting => format!("waits for the approval of {}", waiting.join(", ")),
                };
                (&task.script_id, "script", json!(task.status), what, None, session)
            }
        };
        let state = state.as_str().unwrap_or_default().to_owned();
        let what = ellipsize_chars(&what, WHAT_CHARS).into_owned();
        TaskSummary { id: id.clone(), kind, state, what, next, session: session.clone() }
    }
}

impl Tasks {
    /// Opens the tasks of an app to look at them and to end some, without the app.
    pub async fn look(settings: TaskSettings) -> Result<Self, StoreError> {
        Self::open(TaskSettings { mode: TaskStore::Operator, ..settings }, TaskPorts::default()).await
    }

    /// Comes back when another process has changed them, with how they stand then.
    pub async fn changed(&self) -> Result<Self, StoreError> {
        while !self.store.has_changed().await? {
            tokio::time::sleep(LOOK).await;
        }
        let (settings, store) = (self.settings.clone(), Arc::clone(&self.store));
        let changed = Self::with_store(settings, TaskPorts::default(), store).await?;
        Ok(Self { is_beside: self.is_beside, ..changed })
    }

    /// Closes what [`look`](Self::look) has opened.
    pub async fn finish(&self) {
        self.close().await;
        self.close_store().await;
    }

    /// Returns true if another process runs them, and this one only inspects them.
    pub fn is_beside(&self) -> bool {
        self.is_beside
    }

    /// Returns all tasks: calls in the background, then watchers, schedules and scripts, each in the order in which they
    /// were made.
    pub async fn list(&self) -> Vec<OwnedTask> {
        let mut all: Vec<_> = self.background.all().await.into_iter().map(OwnedTask::Background).collect();
        if let Some(watchers) = &self.watchers {
            all.extend(watchers.all().into_iter().map(OwnedTask::Watcher));
        }
        if let Some(schedules) = &self.schedules {
            all.extend(schedules.all().await.into_iter().map(OwnedTask::Schedule));
        }
        if let Some(scripts) = &self.scripts {
            all.extend(scripts.all().await.into_iter().map(OwnedTask::Script));
        }
        all
    }

    /// Returns the numbers of unfinished tasks on one line for people; `None` without any.
    pub async fn summary(&self) -> Option<String> {
        let all: Vec<_> = self.list().await.iter().map(OwnedTask::summary).collect();
        let count = |kind: &str, states: &[&str]| {
            all.iter().filter(|task| task.kind == kind && states.contains(&task.state.as_str())).count()
        };
        let running = count("background", &["running", WAITING]);
        let watching = count("watcher", &["active", WAITING]);
        let scheduled = all.iter().filter(|task| task.kind == "schedule" && task.next.is_some());
        let paused = count("script", &["running", "paused"]);
        let next = scheduled.clone().filter_map(|task| task.next.as_deref()).min();
        let parts = [
            (running > 0).then(|| format!("{running} in the background")),
            (watching > 0).then(|| format!("{watching} watched")),
            next.map(|next| format!("{} scheduled, next {next}", scheduled.count())),
            (paused > 0).then(|| format!("{paused} scripts unfinished")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("tasks: {}", parts.join(", ")))
    }

    /// Returns one task of any owner.
    pub async fn show(&self, id: &str) -> Result<OwnedTask, ToolError> {
        if let Ok(task) = self.background.status_of_any(id) {
            return Ok(OwnedTask::Background(task));
        }
        if let Some(Ok(task)) = self.watchers.as_ref().map(|watchers| watchers.status_of_any(id)) {
            return Ok(OwnedTask::Watcher(task));
        }
        if let Some(schedules) = &self.schedules
            && let Ok(task) = schedules.status_of_any(id).await
        {
            return Ok(OwnedTask::Schedule(task));
        }
        if let Some(Ok(task)) = self.scripts.as_ref().map(|scripts| scripts.status_of_any(id)) {
            return Ok(OwnedTask::Script(task));
        }
        let message = format!("there is no task `{id}`");
        Err(ToolError::new(ErrorKind::NotFound, message))
    }

    /// Returns the last checks of a watcher in this process, the last one first.
    pub fn history(&self, id: &str) -> Option<Value> {
        let checks = self.watchers.as_ref()?.history_of_any(id).ok()?;
        Some(json!(checks))
    }

    /// Returns the past and next runs of a schedule.
    pub fn timeline(&self, id: &str) -> Option<ScheduleTimeline> {
        self.schedules.as_ref()?.timeline_of_any(id).ok()
    }

    /// Ends a task, whosever it is. Where another process runs it, that one is asked.
    pub async fn cancel(&self, id: &str) -> Result<(), ToolError> {
        let task = self.show(id).await?;
        if self.is_beside {
            return OperatorRequest::Cancel(id.to_owned()).submit(self.store.as_ref()).await;
        }
        match (task, &self.watchers, &self.schedules, &self.scripts) {
            (OwnedTask::Watcher(_), Some(watchers), ..) => watchers.stop_any(id).await.map(drop),
            (OwnedTask::Schedule(_), _, Some(schedules), _) => schedules.cancel_any(id).await.map(drop),
            (OwnedTask::Script(_), .., Some(scripts)) => scripts.cancel_any(id).await.map(drop),
            _ => self.background.cancel_any(id).await.map(drop),
        }
    }
}
