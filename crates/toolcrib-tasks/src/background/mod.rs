//! Calls that run beside the conversation.
//!
//! A [`Background`] starts a call through the one entrance, in the name of whoever asked, and gives its id at once. When the
//! call ends, the session is told at its next turn. A call that was under way when the process ended is made again where
//! its tool allows that, and is of unknown outcome otherwise.

mod after;
mod arguments;
mod names;
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

use self::table::{Live, Table, Waiting};
use self::task::Task;
use crate::id::random_id;
use crate::owner::Owned;
use crate::text::{cut, shown_name};
use crate::{Change, Kind, Record, Services, StoreError};

pub use after::{MOVED, Patient};
pub use names::{former_names, makes_tasks, renamed};
pub use task::{TaskState, TaskStatus};

/// How long a call waits for one in the background where nothing is said.
pub const DEFAULT_TASK_WAIT: Duration = Duration::from_mins(1);

/// How long it may wait at most.
pub const MAX_TASK_WAIT: Duration = Duration::from_hours(1);

/// How long a call that is cancelled may take to end before it is told that it has not.
const CANCEL_WAIT: Duration = Duration::from_secs(5);

/// The longest time that a launch takes to see whether its call has to be approved.
const JUDGED_WAIT: Duration = Duration::from_secs(1);

/// How much of a result is told in a notification, in characters.
const TOLD_CHARS: usize = 600;

/// The bounds of calls in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackgroundSettings {
    /// How many calls of a session run at once; 8.
    pub max_running: usize,
    /// How many calls of a client of the server run at once, in all its sessions; 64.
    pub max_running_of_client: usize,
    /// How many calls of a session are kept, those that run among them; 100. Of more, those that ended first are forgotten.
    pub max_kept: usize,
    /// How long the result of a call is kept; 30 minutes.
    pub retention: Duration,
    /// How long a call may take; an hour.
    pub max_duration: Duration,
}

impl Default for BackgroundSettings {
    fn default() -> Self {
        Self {
            max_running: 8,
            max_running_of_client: 64,
            max_kept: 100,
            retention: Duration::from_mins(30),
            max_duration: Duration::from_hours(1),
        }
    }
}

/// The calls that run beside their conversations. Clones share them.
#[derive(Clone)]
pub struct Background {
    inner: Arc<Inner>,
}

/// A call that somebody looks after, and need not be told of.
pub struct LookedAfter {
    live: Live,
    _waiting: Waiting,
}

impl LookedAfter {
    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.live.has_ended()
    }
}

struct Inner {
    services: Arc<Services>,
    settings: BackgroundSettings,
    table: Table,
}

impl Background {
    /// Takes up the calls that are known from before. Those that were under way wait for [`resume`](Self::resume).
    pub async fn open(services: Arc<Services>, settings: BackgroundSettings) -> Result<Self, StoreError> {
        let table = Table::default();
        for Record { id, body, .. } in services.store.load(Kind::Background).await? {
            match serde_json::from_value::<Task>(body) {
                Ok(task) => table.put(id, Live::new(task, PhaseTracker::new())),
                Err(error) => tracing::warn!(%error, %id, "a call in the background is not understood"),
            }
        }
        Ok(Self { inner: Arc::new(Inner { services, settings, table }) })
    }

    /// Takes up the calls that were under way when the process ended, once it is known where calls go in.
    pub async fn resume(&self) -> Result<(), ToolError> {
        let entrance = self.inner.services.entrance()?;
        for (id, live) in self.inner.table.running() {
            if live.task.may_repeat {
                // The run that made the call is gone, and what it had left with it.
                self.inner.spawn(entrance, id, &live, None);
                continue;
            }
            let call = format!("the program ended while `{}` was under way", shown_name(&live.task.tool));
            let error = ToolError::new(ErrorKind::OutcomeUnknown, call)
                .with_hint("find out whether it has done what it does before you call it again");
            self.inner.finish(&id, Outcome::failed(TaskState::OutcomeUnknown, error)).await;
        }
        Ok(())
    }

    /// Starts a call, and says under which id.
    pub async fn launch(&self, call: ToolCall, context: &CallContext) -> Result<TaskStatus, ToolError> {
        let inner = &self.inner;
        let entrance = inner.services.entrance()?;
        inner.services.check_call(&call, context)?;
        inner.forget_old().await;
        let id = random_id("task").map_err(|error| ToolError::new(ErrorKind::Internal, error.to_string()))?;
        let may_repeat = entrance.may_repeat(&call, context);
        let task = Task::begun(call, context, inner.services.clock.now(), may_repeat);
        let live = Live::new(task, PhaseTracker::new());
        let status = inner.begin(&id, &live).await?;
        inner.spawn(entrance, id.clone(), &live, context.budget.clone());
        // A call that waits for a person is not told to be running.
        let _ = tokio::time::timeout(JUDGED_WAIT, live.judged()).await;
        Ok(match live.status(&id) {
            waiting if waiting.status == TaskState::WaitingForApproval => waiting,
            _ => status,
        })
    }

    /// How a call stands.
    pub async fn status(&self, id: &str, context: &CallContext) -> Result<TaskStatus, ToolError> {
        self.inner.forget_old().await;
        let live = self.inner.table.find(id, context)?;
        let status = live.status(id);
        self.inner.was_read(id, &live).await;
        Ok(status)
    }

    /// Waits until a call has ended, and says how it stands then.
    pub async fn wait(
        &self,
        id: &str,
        time: Duration,
        context: &CallContext,
    ) -> Result<TaskStatus, ToolError> {
        let live = self.inner.table.find(id, context)?;
        let _waiting = live.waits();
        let end = Instant::now() + time.min(MAX_TASK_WAIT);
        // What is under way then is told to be.
        let _ = tokio::time::timeout_at(end, context.cancel.run_until_cancelled(live.ended())).await;
        self.status(id, context).await
    }

    /// Whoever asks looks after a call themselves as long as they keep what this gives: of its end they are not told.
    pub fn look_after(&self, id: &str, context: &CallContext) -> Result<LookedAfter, ToolError> {
        let live = self.inner.table.find(id, context)?;
        Ok(LookedAfter { _waiting: live.waits(), live })
    }

    /// How long a result is kept.
    pub fn retention(&self) -> Duration {
        self.inner.settings.retention
    }

    /// Ends a call.
    pub async fn cancel(&self, id: &str, context: &CallContext) -> Result<TaskStatus, ToolError> {
        let live = self.inner.table.find(id, context)?;
        let _waiting = live.waits();
        live.cancel.cancel();
        // What has not ended by then is told to be under way.
        let _ = tokio::time::timeout(CANCEL_WAIT, live.ended()).await;
        self.status(id, context).await
    }

    /// The calls of whoever asks, in the order in which they were started.
    pub async fn list(&self, context: &CallContext) -> Vec<TaskStatus> {
        self.inner.forget_old().await;
        self.inner.table.of(context).iter().map(|(id, live)| live.status(id).without_result()).collect()
    }

    /// The calls of everybody, in the order in which they were started. For whoever operates the program.
    pub async fn all(&self) -> Vec<Owned<TaskStatus>> {
        self.inner.forget_old().await;
        let all = self.inner.table.all();
        all.iter().map(|(id, live)| live.task.owner.owning(live.status(id).without_result())).collect()
    }

    /// How a call of anybody stands. For whoever operates the program: its result is still to be read by whoever made it.
    pub fn status_of_any(&self, id: &str) -> Result<Owned<TaskStatus>, ToolError> {
        let live = self.inner.table.get(id).ok_or_else(|| not_found(id))?;
        Ok(live.task.owner.owning(live.status(id)))
    }

    /// Ends a call of anybody. For whoever operates the program.
    pub async fn cancel_any(&self, id: &str) -> Result<Owned<TaskStatus>, ToolError> {
        let live = self.inner.table.get(id).ok_or_else(|| not_found(id))?;
        live.cancel.cancel();
        if !live.is_over() && self.inner.services.entrance().is_err() {
            // Nobody runs it any more.
            let error = ToolError::new(
                ErrorKind::OutcomeUnknown,
                "it was cancelled after the program had ended under it",
            );
            self.inner.finish(id, Outcome::failed(TaskState::OutcomeUnknown, error)).await;
        }
        // What has not ended by then is told to be under way.
        let _ = tokio::time::timeout(CANCEL_WAIT, live.ended()).await;
        self.status_of_any(id)
    }

    /// Waits until no call of a session waits for a person.
    pub async fn no_call_waits_for_a_person(&self, session: &str) {
        while let Some(live) = self.inner.table.waiting_in(session) {
            tokio::select! {
                () = live.phase.wait_until(|phase| phase != CallPhase::WaitingForPerson) => {}
                () = live.ended() => {}
            }
        }
    }

    /// Ends the calls of a session that nobody goes on with, and forgets them.
    pub async fn end_session(&self, session: &str) {
        let calls = self.inner.table.take_session(session);
        for (_, live) in &calls {
            live.cancel.cancel();
        }
        let removed = calls.iter().map(|(id, _)| Change::remove(Kind::Background, id.as_str())).collect();
        self.inner.apply(removed).await;
        let ended = futures::future::join_all(calls.iter().map(|(_, live)| live.ended()));
        // One that does not end in time is left to end later.
        let _ = tokio::time::timeout(CANCEL_WAIT, ended).await;
    }

    /// Gives the calls that run so much time, and cancels the others. No more are started once
    /// [`Services::stop_intake`] was called.
    pub async fn close(&self, time: Duration) {
        let running = self.inner.table.running();
        let ended = || futures::future::join_all(running.iter().map(|(_, live)| live.ended()));
        if tokio::time::timeout(time, ended()).await.is_err() {
            for (_, live) in &running {
                live.cancel.cancel();
            }
            // One that does not end is of unknown outcome the next time.
            let _ = tokio::time::timeout(CANCEL_WAIT, ended()).await;
        }
    }
}

impl Inner {
    /// Writes down a call that runs from now on, and says how it stands.
    async fn begin(&self, id: &str, live: &Live) -> Result<TaskStatus, ToolError> {
        let forgotten = self.table.begin(id, live, &self.settings)?;
        let mut changes = vec![record(id, &live.task)];
        changes.extend(forgotten.into_iter().map(|id| Change::remove(Kind::Background, id)));
        let kept = self.services.store.apply(changes).await;
        Ok(live.status(id).with_note(match kept {
            Ok(()) => "it runs in the background; you are told when it has ended".to_owned(),
            Err(error) => format!("it runs, and is forgotten when the program ends: {error}"),
        }))
    }

    /// Makes a call that is in the table. It spends what is left to whoever started it.
    fn spawn(
        self: &Arc<Self>,
        entrance: &Arc<dyn ToolCaller>,
        id: String,
        live: &Live,
        budget: Option<Arc<dyn Any + Send + Sync>>,
    ) {
        let (inner, entrance, live) = (Arc::clone(self), Arc::clone(entrance), live.clone());
        let mut context =
            live.task.owner.context().with_cancel(live.cancel.clone()).with_run_key(id.as_str());
        context.deadline = Instant::now().checked_add(self.settings.max_duration);
        context.phase = live.phase.clone();
        context.progress = Some(Arc::new(Listener(live.clone())));
        context.budget = budget;
        context.depth = 1;
        let call = ToolCall::new(&live.task.tool, live.task.arguments.clone()).with_call_id(&id);
        let work = tokio::spawn(async move { entrance.call(call, &context).await });
        inner.follow(id, live, work);
    }

    /// Waits for the end of a call that is in the table, and writes down what came of it.
    fn follow(self: Arc<Self>, id: String, live: Live, work: JoinHandle<ToolResult>) {
        tokio::spawn(async move {
            let work = work.await.map(|result| (result.facts(), result));
            let outcome = match work {
                Ok((facts, ToolResult { error: None, result, metadata, .. })) => {
                    let handle = metadata.get("handle").and_then(Value::as_str).map(str::to_owned);
                    Outcome { result, handle, facts, ..Outcome::new(TaskState::Completed) }
                }
                Ok((facts, ToolResult { error: Some(error), .. })) => {
                    let is_cancelled = live.cancel.is_cancelled() && error.kind == ErrorKind::Cancelled;
                    let state = if is_cancelled { TaskState::Cancelled } else { TaskState::Failed };
                    Outcome { facts, ..Outcome::failed(state, error) }
                }
                Err(error) => {
                    let error = ToolError::new(ErrorKind::Internal, format!("the call broke off: {error}"));
                    Outcome::failed(TaskState::Failed, error)
                }
            };
            self.finish(&id, outcome).await;
        });
    }

    /// Writes down what came of a call, and tells its session.
    async fn finish(&self, id: &str, outcome: Outcome) {
        // One that was forgotten meanwhile ends without a word.
        let Some(live) = self.table.get(id) else { return };
        let mut task = Task::clone(&live.task);
        let Outcome { state, result, handle, facts, error } = outcome;
        (task.state, task.ended) = (state, Some(self.services.clock.now()));
        (task.result, task.handle, task.facts, task.error) = (result, handle, facts, error);
        let (session, told) = (task.owner.session.clone(), told(id, &task));
        // It is kept before anybody is told.
        self.apply(vec![record(id, &task)]).await;
        if self.table.end(id, task) == Some(false)
            && let Err(error) = self.services.notifications.tell(&session, &told).await
        {
            tracing::warn!(%error, %id, "that a call has ended is told, and not kept");
        }
    }

    /// A result that was read is not needed after a crash.
    async fn was_read(&self, id: &str, live: &Live) {
        if live.is_over() {
            self.apply(vec![Change::remove(Kind::Background, id)]).await;
        }
    }

    async fn forget_old(&self) {
        let now = self.services.clock.now();
        let oldest = now.checked_sub(self.settings.retention).unwrap_or(now);
        let removed = self.table.forget(oldest);
        if !removed.is_empty() {
            let removed = removed.into_iter().map(|id| Change::remove(Kind::Background, id)).collect();
            self.apply(removed).await;
        }
    }

    /// Keeps what can be kept: a call goes on where it cannot.
    async fn apply(&self, changes: Vec<Change>) {
        if let Err(error) = self.services.store.apply(changes).await {
            tracing::warn!(%error, "a call in the background is not kept");
        }
    }
}

/// What came of a call.
struct Outcome {
    state: TaskState,
    result: Value,
    handle: Option<String>,
    facts: Option<String>,
    error: Option<ToolError>,
}

impl Outcome {
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
    Change::Put(Record { kind: Kind::Background, id, session, body: json!(task) })
}

/// What a session is told of a call that has ended.
fn told(id: &str, task: &Task) -> String {
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
        TaskState::OutcomeUnknown => "was under way when the program ended",
        TaskState::Failed | TaskState::Running | TaskState::WaitingForApproval => "has failed",
    };
    format!("The background task {id} ({tool}) {how}: {}", cut(&what, TOLD_CHARS))
}

/// Hears how far a call is.
struct Listener(Live);

impl ProgressListener for Listener {
    fn progress(&self, progress: &Progress) {
        self.0.progressed(progress);
    }
}
