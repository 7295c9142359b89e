//! Background calls.
//!
//! A [`Background`] starts a call on behalf of its caller and returns the id of the task at once. The session is
//! notified at its next turn after the call has ended. A call that was running when the process ended is repeated if
//! its tool allows that; otherwise its outcome is unknown.

mod arguments;
mod auto_background;
mod former_names;
mod table;
mod task;
mod tools;

#[cfg(test)]
mod tests;

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ToolCall, ToolError, ToolResult};
use toolcrib_port::{CallContext, CallPhase, PhaseTracker, Progress, ProgressListener, ToolCaller};

use self::table::{LiveTask, TaskTable, WaiterGuard};
use self::task::Task;
use crate::id::random_id;
use crate::owner::WithOwner;
use crate::text::{shown_name, truncate_chars};
use crate::{Change, Record, RecordKind, Services, StoreError};

pub use auto_background::{BACKGROUND_TASK_KEY, BackgroundingCaller};
pub use former_names::{former_names, makes_tasks, resolve_former_name};
pub use task::{TaskState, TaskStatus};

/// The default time to wait for a background call.
pub const DEFAULT_TASK_WAIT: Duration = Duration::from_mins(1);

/// The maximum time to wait for a background call.
pub const MAX_TASK_WAIT: Duration = Duration::from_hours(1);

/// The time that a cancelled call has to end.
const CANCEL_WAIT: Duration = Duration::from_secs(5);

/// The time that a launch waits to find out if its call needs approval.
const APPROVAL_CHECK_TIME: Duration = Duration::from_secs(1);

/// The maximum length of a result in a notification, in characters.
const MAX_NOTIFIED_CHARS: usize = 600;

/// The limits of background calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackgroundSettings {
    /// The maximum number of calls of a session that run at once; 8.
    pub max_running: usize,
    /// The maximum number of calls of a client of the server that run at once, in all its sessions; 64.
    pub max_running_of_client: usize,
    /// The maximum number of calls per session, including those that run; 100. The calls that ended first are removed
    /// first.
    pub max_retained: usize,
    /// The time that the result of a call is retained; 30 minutes.
    pub retention: Duration,
    /// The maximum duration of a call; one hour.
    pub max_duration: Duration,
}

impl Default for BackgroundSettings {
    fn default() -> Self {
        Self {
            max_running: 8,
            max_running_of_client: 64,
            max_retained: 100,
            retention: Duration::from_mins(30),
            max_duration: Duration::from_hours(1),
        }
    }
}

/// The background calls of all sessions. Clones share them.
#[derive(Clone)]
pub struct Background {
    inner: Arc<BackgroundInner>,
}

/// A handle to a background call whose end its holder tracks. While the handle exists, the session is not notified.
pub struct TaskObserver {
    live: LiveTask,
    _waiting: WaiterGuard,
}

impl TaskObserver {
    /// Returns true if the call has ended.
    pub fn is_over(&self) -> bool {
        self.live.has_ended()
    }
}

struct BackgroundInner {
    services: Arc<Services>,
    settings: BackgroundSettings,
    table: TaskTable,
}

impl Background {
    /// Loads the calls from the store. Those that were running wait for [`resume`](Self::resume).
    pub async fn open(services: Arc<Services>, settings: BackgroundSettings) -> Result<Self, StoreError> {
        let table = TaskTable::default();
        for Record { id, body, .. } in services.store.load(RecordKind::Background).await? {
            match serde_json::from_value::<Task>(body) {
                Ok(task) => table.put(id, LiveTask::new(task, PhaseTracker::new())),
                Err(error) => tracing::warn!(%error, %id, "a stored background call cannot be read"),
            }
        }
        Ok(Self { inner: Arc::new(BackgroundInner { services, settings, table }) })
    }

    /// Resumes the calls that were running when the process ended. The tool caller must be set.
    pub async fn resume(&self) -> Result<(), ToolError> {
        let tool_caller = self.inner.services.tool_caller()?;
        for (id, live) in self.inner.table.running() {
            if live.task.may_repeat {
                // The agent run that made the call has ended, and its budget with it.
                self.inner.spawn(tool_caller, id, &live, None);
                continue;
            }
            let message = format!("the program ended while `{}` was running", shown_name(&live.task.tool));
            let error = ToolError::new(ErrorKind::OutcomeUnknown, message)
                .with_hint("check if it took effect before you call it again");
            self.inner.finish(&id, TaskOutcome::failed(TaskState::OutcomeUnknown, error)).await;
        }
        Ok(())
    }

    /// Starts a call, and returns its status with the id of the task.
    pub async fn launch(&self, call: ToolCall, context: &CallContext) -> Result<TaskStatus, ToolError> {
        let inner = &self.inner;
        let tool_caller = inner.services.tool_caller()?;
        inner.services.check_call(&call, context)?;
        inner.remove_expired().await;
        let id = random_id("task").map_err(|error| ToolError::new(ErrorKind::Internal, error.to_string()))?;
        let may_repeat = tool_caller.catalogue().may_repeat(&call, context);
        let task = Task::new(call, context, inner.services.clock.now(), may_repeat);
        let live = LiveTask::new(task, PhaseTracker::new());
        let status = inner.insert(&id, &live).await?;
        inner.spawn(tool_caller, id.clone(), &live, context.budget.clone());
        // The status of a call that waits for a person says so.
        let _ = tokio::time::timeout(APPROVAL_CHECK_TIME, live.decided()).await;
        Ok(match live.status(&id) {
            waiting if waiting.status == TaskState::WaitingForApproval => waiting,
            _ => status,
        })
    }

    /// Returns the status of a call.
    pub async fn status(&self, id: &str, context: &CallContext) -> Result<TaskStatus, ToolError> {
        self.inner.remove_expired().await;
        let live = self.inner.table.find(id, context)?;
        let status = live.status(id);
        self.inner.remove_read(id, &live).await;
        Ok(status)
    }

    /// Waits until a call has ended or the time is over, and returns its status.
    pub async fn wait(
        &self,
        id: &str,
        time: Duration,
        context: &CallContext,
    ) -> Result<TaskStatus, ToolError> {
        let live = self.inner.table.find(id, context)?;
        let _waiting = live.add_waiter();
        let end = Instant::now() + time.min(MAX_TASK_WAIT);
        // After a timeout the status says that the call is running.
        let _ = tokio::time::timeout_at(end, context.cancel.run_until_cancelled(live.ended())).await;
        self.status(id, context).await
    }

    /// Returns a handle by which the caller tracks the end of a call. While the handle exists, the session is not
    /// notified.
    pub fn observe(&self, id: &str, context: &CallContext) -> Result<TaskObserver, ToolError> {
        let live = self.inner.table.find(id, context)?;
        Ok(TaskObserver { _waiting: live.add_waiter(), live })
    }

    /// Returns the time that a result is retained.
    pub fn retention(&self) -> Duration {
        self.inner.settings.retention
    }

    /// Cancels a call.
    pub async fn cancel(&self, id: &str, context: &CallContext) -> Result<TaskStatus, ToolError> {
        let live = self.inner.table.find(id, context)?;
        let _waiting = live.add_waiter();
        live.cancel.cancel();
        // After a timeout the status says that the call is running.
        let _ = tokio::time::timeout(CANCEL_WAIT, live.ended()).await;
        self.status(id, context).await
    }

    /// Returns the calls of the caller, in the order in which they were started.
    pub async fn list(&self, context: &CallContext) -> Vec<TaskStatus> {
        self.inner.remove_expired().await;
        self.inner.table.of(context).iter().map(|(id, live)| live.status(id).without_result()).collect()
    }

    /// Returns the calls of all owners, in the order in which they were started. For operators.
    pub async fn all(&self) -> Vec<WithOwner<TaskStatus>> {
        self.inner.remove_expired().await;
        let all = self.inner.table.all();
        all.iter().map(|(id, live)| live.task.owner.attach_to(live.status(id).without_result())).collect()
    }

    /// Returns the status of a call of any owner. For operators: the result stays unread for its owner.
    pub fn status_of_any(&self, id: &str) -> Result<WithOwner<TaskStatus>, ToolError> {
        let live = self.inner.table.get(id).ok_or_else(|| not_found(id))?;
        Ok(live.task.owner.attach_to(live.status(id)))
    }

    /// Cancels a call of any owner. For operators.
    pub async fn cancel_any(&self, id: &str) -> Result<WithOwner<TaskStatus>, ToolError> {
        let live = self.inner.table.get(id).ok_or_else(|| not_found(id))?;
        live.cancel.cancel();
        if !live.is_over() && self.inner.services.tool_caller().is_err() {
            // No process runs the call any more.
            let error = ToolError::new(
                ErrorKind::OutcomeUnknown,
                "it was cancelled after the program that ran it had ended",
            );
            self.inner.finish(id, TaskOutcome::failed(TaskState::OutcomeUnknown, error)).await;
        }
        // After a timeout the status says that the call is running.
        let _ = tokio::time::timeout(CANCEL_WAIT, live.ended()).await;
        self.status_of_any(id)
    }

    /// Waits until no call of a session waits for an approval.
    pub async fn wait_for_approvals(&self, session: &str) {
        while let Some(live) = self.inner.table.waiting_in(session) {
            tokio::select! {
                () = live.phase.wait_until(|phase| phase != CallPhase::WaitingForPerson) => {}
                () = live.ended() => {}
            }
        }
    }

    /// Cancels and removes the calls of a session that has ended.
    pub async fn end_session(&self, session: &str) {
        let calls = self.inner.table.take_session(session);
        for (_, live) in &calls {
            live.cancel.cancel();
        }
        let removed =
            calls.iter().map(|(id, _)| Change::remove(RecordKind::Background, id.as_str())).collect();
        self.inner.apply(removed).await;
        let ended = futures::future::join_all(calls.iter().map(|(_, live)| live.ended()));
        // A call that does not end in time ends later.
        let _ = tokio::time::timeout(CANCEL_WAIT, ended).await;
    }

    /// Waits for the running calls to end, and cancels them after the given time. New calls are refused after
    /// [`Services::stop_intake`].
    pub async fn close(&self, time: Duration) {
        let running = self.inner.table.running();
        let ended = || futures::future::join_all(running.iter().map(|(_, live)| live.ended()));
        if tokio::time::timeout(time, ended()).await.is_err() {
            for (_, live) in &running {
                live.cancel.cancel();
            }
            // The outcome of a call that does not end is unknown after the next start.
            let _ = tokio::time::timeout(CANCEL_WAIT, ended()).await;
        }
    }
}

impl BackgroundInner {
    /// Adds a running call to the table and the store, and returns its status.
    async fn insert(&self, id: &str, live: &LiveTask) -> Result<TaskStatus, ToolError> {
        let forgotten = self.table.add(id, live, &self.settings)?;
        let mut changes = vec![record(id, &live.task)];
        changes.extend(forgotten.into_iter().map(|id| Change::remove(RecordKind::Background, id)));
        let saved = self.services.store.apply(changes).await;
        Ok(live.status(id).with_note(match saved {
            Ok(()) => "it runs in the background; you are notified when it has ended".to_owned(),
            Err(error) => format!("it runs, and is lost when the program ends: {error}"),
        }))
    }

    /// Executes a call that is in the table. It draws on the budget of the run that started it.
    fn spawn(
        self: &Arc<Self>,
        tool_caller: &Arc<dyn ToolCaller>,
        id: String,
        live: &LiveTask,
        budget: Option<Arc<dyn Any + Send + Sync>>,
    ) {
        let (inner, tool_caller, live) = (Arc::clone(self), Arc::clone(tool_caller), live.clone());
        let mut context =
            live.task.owner.context().with_cancel(live.cancel.clone()).with_run_key(id.as_str());
        context.deadline = Instant::now().checked_add(self.settings.max_duration);
        context.phase = live.phase.clone();
        context.progress = Some(Arc::new(ProgressRecorder(live.clone())));
        context.budget = budget;
        context.depth = 1;
        let call = ToolCall::new(&live.task.tool, live.task.arguments.clone()).with_call_id(&id);
        let work = tokio::spawn(async move { tool_caller.call(call, &context).await });
        inner.follow(id, live, work);
    }

    /// Waits for the end of a call that is in the table, and records its outcome.
    fn follow(self: Arc<Self>, id: String, live: LiveTask, work: JoinHandle<ToolResult>) {
        tokio::spawn(async move {
            let work = work.await.map(|result| (result.facts(), result));
            let outcome = match work {
                Ok((facts, ToolResult { error: None, result, metadata, .. })) => {
                    let handle = metadata.get("handle").and_then(Value::as_str).map(str::to_owned);
                    TaskOutcome { result, handle, facts, ..TaskOutcome::new(TaskState::Completed) }
                }
                Ok((facts, ToolResult { error: Some(error), .. })) => {
                    let is_cancelled = live.cancel.is_cancelled() && error.kind == ErrorKind::Cancelled;
                    let state = if is_cancelled { TaskState::Cancelled } else { TaskState::Failed };
                    TaskOutcome { facts, ..TaskOutcome::failed(state, error) }
                }
                Err(error) => {
                    let error = ToolError::new(ErrorKind::Internal, format!("the call was aborted: {error}"));
                    TaskOutcome::failed(TaskState::Failed, error)
                }
            };
            self.finish(&id, outcome).await;
        });
    }

    /// Records the outcome of a call, and notifies its session.
    async fn finish(&self, id: &str, outcome: TaskOutcome) {
        // A call that was removed meanwhile ends without a notification.
        let Some(live) = self.table.get(id) else { return };
        let mut task = Task::clone(&live.task);
        let TaskOutcome { state, result, handle, facts, error } = outcome;
        (task.state, task.ended) = (state, Some(self.services.clock.now()));
        (task.result, task.handle, task.facts, task.error) = (result, handle, facts, error);
        let (session, text) = (task.owner.session.clone(), notification_text(id, &task));
        // The outcome is persisted before the session is notified.
        self.apply(vec![record(id, &task)]).await;
        if self.table.complete(id, task) == Some(false)
            && let Err(error) = self.services.notifications.push(&session, &text).await
        {
            tracing::warn!(%error, %id, "the notification of the end of a call cannot be persisted");
        }
    }

    /// Removes a result that was read from the store: it is not needed after a crash.
    async fn remove_read(&self, id: &str, live: &LiveTask) {
        if live.is_over() {
            self.apply(vec![Change::remove(RecordKind::Background, id)]).await;
        }
    }

    async fn remove_expired(&self) {
        let now = self.services.clock.now();
        let oldest = now.checked_sub(self.settings.retention).unwrap_or(now);
        let removed = self.table.remove_ended_before(oldest);
        if !removed.is_empty() {
            let removed = removed.into_iter().map(|id| Change::remove(RecordKind::Background, id)).collect();
            self.apply(removed).await;
        }
    }

    /// Applies changes to the store. A call continues if they cannot be persisted.
    async fn apply(&self, changes: Vec<Change>) {
        if let Err(error) = self.services.store.apply(changes).await {
            tracing::warn!(%error, "a background call cannot be persisted");
        }
    }
}

/// The outcome of a call.
struct TaskOutcome {
    state: TaskState,
    result: Value,
    handle: Option<String>,
    facts: Option<String>,
    error: Option<ToolError>,
}

impl TaskOutcome {
    fn new(state: TaskState) -> Self {
        Self { state, result: Value::Null, handle: None, facts: None, error: None }
    }

    fn failed(state: TaskState, error: ToolError) -> Self {
        Self { error: Some(error), ..Self::new(state) }
    }
}

fn not_found(id: &str) -> ToolError {
    ToolError::new(ErrorKind::NotFound, format!("there is no background task `{id}`"))
}

fn record(id: &str, task: &Task) -> Change {
    let (id, session) = (id.to_owned(), task.owner.session.clone());
    Change::Put(Record { kind: RecordKind::Background, id, session, body: json!(task) })
}

/// Returns the notification about a call that has ended.
fn notification_text(id: &str, task: &Task) -> String {
    let value = match &task.error {
        None if task.result.is_null() && task.facts.is_some() => String::new(),
        None => task.result.to_string(),
        Some(error) => error.to_string(),
    };
    let parts = [task.facts.as_deref().unwrap_or_default(), &value];
    let what = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let tool = shown_name(&task.tool);
    let how = match task.state {
        TaskState::Completed => "has ended",
        TaskState::Cancelled => "was cancelled",
        TaskState::OutcomeUnknown => "was running when the program ended",
        TaskState::Failed | TaskState::Running | TaskState::WaitingForApproval => "has failed",
    };
    format!("The background task {id} ({tool}) {how}: {}", truncate_chars(&what, MAX_NOTIFIED_CHARS))
}

/// A listener that records the progress of a call.
struct ProgressRecorder(LiveTask);

impl ProgressListener for ProgressRecorder {
    fn progress(&self, progress: &Progress) {
        self.0.set_progress(progress);
    }
}
