//! Background calls.
//!
//! A [`Background`] starts a call on behalf of its caller and returns the id of the task at once. The session is
//! notified at its next turn after the call has ended. A call that was running when the process ended is repeated if
//! its tool allows that, or if it had not begun; otherwise its outcome is unknown.

mod arguments;
mod auto_background;
mod call;
mod call_start;
mod former_names;
mod task;
mod tools;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize as _;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use toolcrib_model::text::ellipsize_chars;
use toolcrib_model::{ErrorKind, ToolCall, ToolError, ToolResult};
use toolcrib_port::{CallContext, CallPhase, RunBudget, ToolCaller};

use self::call::{LiveCall, LocalCall, WaiterGuard};
use self::call_start::CallStart;
use self::task::BackgroundTask;
use crate::Services;
use crate::action::RepeatableCall;
use crate::ledger::{CANCEL_WAIT, Ledger, Live};
use crate::owner::WithOwner;
use crate::run_detached::run_detached;
use crate::services::LEASE_TIME;
use crate::store::{Change, RecordKind, StoreError};
use crate::text::shown_name;

pub use auto_background::BackgroundingCaller;
pub use former_names::{former_names, makes_tasks, resolve_former_name};
pub use task::{TaskState, TaskStatus};

/// The default time to wait for a background call.
const DEFAULT_TASK_WAIT: Duration = Duration::from_mins(1);

/// The maximum time to wait for a background call.
const MAX_TASK_WAIT: Duration = Duration::from_hours(1);

/// The time that a launch waits to find out if its call needs approval.
const APPROVAL_CHECK_TIME: Duration = Duration::from_secs(1);

/// The maximum length of a result in a notification, in characters.
const MAX_NOTIFIED_CHARS: usize = 600;

/// The limits of background calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    waiting: WaiterGuard,
}

impl TaskObserver {
    /// Returns true if the call has ended.
    pub fn is_over(&self) -> bool {
        self.waiting.0.task().has_ended()
    }
}

/// The interval at which a caller that waits looks for the end of a call in another process.
const SHARED_POLL: Duration = Duration::from_millis(500);

struct BackgroundInner {
    ledger: Ledger<BackgroundTask, LocalCall>,
    settings: BackgroundSettings,
}

impl Background {
    /// Loads the calls from the store. Those that were running wait for [`resume`](Self::resume).
    pub async fn open(services: Arc<Services>, settings: BackgroundSettings) -> Result<Self, StoreError> {
        let read = |body: &Value| match BackgroundTask::deserialize(body) {
            Ok(task) => Ok((task, LocalCall::default())),
            Err(error) => Err(error.to_string()),
        };
        let (ledger, _) = Ledger::open(services, read).await?;
        Ok(Self { inner: Arc::new(BackgroundInner { ledger, settings }) })
    }

    /// Resumes the calls that were running when the process ended. The tool caller must be set.
    pub async fn resume(&self) -> Result<(), ToolError> {
        self.inner.ledger.services.tool_caller()?;
        for live in self.inner.ledger.matching(|task| !task.has_ended()) {
            if self.inner.recover(&live).await {
                continue;
            }
            self.inner.recover_later(live);
        }
        Ok(())
    }

    /// Returns a call of the caller, also one of another process.
    async fn find(&self, id: &str, context: &CallContext) -> Result<Arc<LiveCall>, ToolError> {
        let is_known = self.inner.ledger.get(id).is_ok();
        let live = self.inner.ledger.find_shared(id, context).await?;
        if !is_known && !live.task().has_ended() {
            self.inner.recover_later(Arc::clone(&live));
        }
        Ok(live)
    }

    /// Starts a call, and returns its status with the id of the task.
    pub async fn launch(&self, call: ToolCall, context: &CallContext) -> Result<TaskStatus, ToolError> {
        let inner = &self.inner;
        let services = &inner.ledger.services;
        let tool_caller = services.tool_caller()?;
        services.check_call(&call, context)?;
        inner.remove_expired().await;
        let may_repeat = tool_caller.catalogue().may_repeat(&call, context);
        let task = BackgroundTask::new(call, context, services.clock.now(), may_repeat);
        let live = Live::create(task, LocalCall::default())?;
        let (inner, tool_caller) = (Arc::clone(inner), Arc::clone(tool_caller));
        let (started, budget) = (Arc::clone(&live), context.budget.clone());
        let starting = async move {
            let status = inner.insert(&started).await?;
            inner.spawn(&tool_caller, &started, budget);
            Ok::<_, ToolError>(status)
        };
        let status = run_detached(starting).await?;
        // The status of a call that waits for a person says so.
        let _ = tokio::time::timeout(APPROVAL_CHECK_TIME, live.decided()).await;
        Ok(match live.status() {
            waiting if waiting.status == TaskState::WaitingForApproval => waiting,
            _ => status,
        })
    }

    /// Returns the status of a call.
    pub async fn status(&self, id: &str, context: &CallContext) -> Result<TaskStatus, ToolError> {
        self.inner.remove_expired().await;
        let live = self.find(id, context).await?;
        let status = live.status();
        self.inner.remove_read(&live).await;
        Ok(status)
    }

    /// Waits until a call has ended or the time is over, and returns its status.
    pub async fn wait(
        &self,
        id: &str,
        time: Duration,
        context: &CallContext,
    ) -> Result<TaskStatus, ToolError> {
        let live = self.find(id, context).await?;
        let _waiting = WaiterGuard::new(&live);
        let end = Instant::now() + time.min(MAX_TASK_WAIT);
        let ended = self.inner.ended(&live);
        // After a timeout the status says that the call is running.
        let _ = tokio::time::timeout_at(end, context.cancel.run_until_cancelled(ended)).await;
        self.status(id, context).await
    }

    /// Returns a handle by which the caller tracks the end of a call. While the handle exists, the session is not
    /// notified.
    pub fn observe(&self, id: &str, context: &CallContext) -> Result<TaskObserver, ToolError> {
        let live = self.inner.ledger.find(id, context)?;
        Ok(TaskObserver { waiting: WaiterGuard::new(&live) })
    }

    /// Returns the time that a result is retained.
    pub fn retention(&self) -> Duration {
        self.inner.settings.retention
    }

    /// Cancels a call.
    pub async fn cancel(&self, id: &str, context: &CallContext) -> Result<TaskStatus, ToolError> {
        let live = self.find(id, context).await?;
        let _waiting = WaiterGuard::new(&live);
        live.local.cancel.cancel();
        let ledger = &self.inner.ledger;
        if ledger.services.is_shared() && !live.is_running() && !live.task().has_ended() {
            ledger.put_cancel_marker(&live).await.map_err(|error| {
                ToolError::new(ErrorKind::Unavailable, error.to_string()).with_hint("try again later")
            })?;
        }
        // After a timeout the status says that the call is running.
        let _ = tokio::time::timeout(CANCEL_WAIT, self.inner.ended(&live)).await;
        self.status(id, context).await
    }

    /// Returns the calls of the caller, in the order in which they were started.
    pub async fn list(&self, context: &CallContext) -> Vec<TaskStatus> {
        self.inner.remove_expired().await;
        self.inner.ledger.of(context).iter().map(|live| live.status().without_result()).collect()
    }

    /// Returns the calls of all owners, in the order in which they were started. For operators.
    pub async fn all(&self) -> Vec<WithOwner<TaskStatus>> {
        self.inner.remove_expired().await;
        let all = self.inner.ledger.all();
        all.iter().map(|live| live.owner.attach_to(live.status().without_result())).collect()
    }

    /// Returns the status of a call of any owner. For operators: the result stays unread for its owner.
    pub fn status_of_any(&self, id: &str) -> Result<WithOwner<TaskStatus>, ToolError> {
        let live = self.inner.ledger.get(id)?;
        Ok(live.owner.attach_to(live.status()))
    }

    /// Cancels a call of any owner. For operators.
    pub async fn cancel_any(&self, id: &str) -> Result<WithOwner<TaskStatus>, ToolError> {
        let live = self.inner.ledger.get(id)?;
        live.local.cancel.cancel();
        if !live.task().has_ended() && self.inner.ledger.services.tool_caller().is_err() {
            // No process runs the call any more.
            let error = ToolError::new(
                ErrorKind::OutcomeUnknown,
                "it was cancelled after the program that ran it had ended",
            );
            self.inner.finish(&live, |task| task.fail(TaskState::OutcomeUnknown, error)).await;
        }
        // After a timeout the status says that the call is running.
        let _ = tokio::time::timeout(CANCEL_WAIT, live.ended()).await;
        Ok(live.owner.attach_to(live.status()))
    }

    /// Waits until no call of a session waits for an approval.
    pub async fn wait_for_approvals(&self, session: &str) {
        let waits = |live: &Arc<LiveCall>| live.state() == TaskState::WaitingForApproval;
        while let Some(live) = self.inner.ledger.of_session(session).into_iter().find(waits) {
            tokio::select! {
                () = live.local.phase.wait_until(|phase| phase != CallPhase::WaitingForPerson) => {}
                () = live.ended() => {}
            }
        }
    }

    /// Cancels and removes the calls of a session that has ended.
    pub async fn end_session(&self, session: &str) {
        let (inner, calls) = (Arc::clone(&self.inner), self.inner.ledger.of_session(session));
        for live in &calls {
            live.local.cancel.cancel();
        }
        let removing = async move {
            inner.ledger.remove_all(&calls).await;
            let ended = futures::future::join_all(calls.iter().map(|live| live.ended()));
            // A call that does not end in time ends later.
            let _ = tokio::time::timeout(CANCEL_WAIT, ended).await;
        };
        run_detached(removing).await;
    }

    /// Returns the names of the running calls that do not wait for a person.
    pub(crate) fn in_progress(&self) -> Vec<String> {
        let calls = self.inner.ledger.all().into_iter();
        let busy = calls.filter(|live| live.is_running() && live.state() == TaskState::Running);
        busy.map(|live| format!("background task {} (`{}`)", live.id, shown_name(&live.task().tool)))
            .collect()
    }

    /// Waits for the running calls to end, and cancels them after the given time, or at once if they wait for a person. The
    /// outcome of a call that does not end is unknown after the next start. New calls are refused after
    /// [`Services::stop_intake`].
    pub async fn close(&self, time: Duration) {
        self.inner.ledger.close(time).await;
    }
}

impl BackgroundInner {
    /// Adds a running call to the ledger, and returns its status.
    async fn insert(&self, live: &Arc<LiveCall>) -> Result<TaskStatus, ToolError> {
        let saved = self.ledger.insert(live, &self.settings.bounds()).await?;
        // Its id is new, so no other process holds the lease.
        self.ledger.renew_lease(live).await;
        Ok(live.status().with_note(match saved {
            Ok(()) => "it runs in the background; you are notified when it has ended".to_owned(),
            Err(error) => format!("it runs, and is lost when the program ends: {error}"),
        }))
    }

    /// Attempts to recover a call again and again, since the process that runs it may end before the call does.
    fn recover_later(self: &Arc<Self>, live: Arc<LiveCall>) {
        let inner = Arc::clone(self);
        tokio::spawn(async move {
            let closing = inner.ledger.services.closing().clone();
            let retries = async {
                loop {
                    tokio::time::sleep(LEASE_TIME).await;
                    if inner.recover(&live).await {
                        return;
                    }
                }
            };
            closing.run_until_cancelled(retries).await
        });
    }

    /// Waits until a call has ended here or in another process, or was removed.
    async fn ended(&self, live: &LiveCall) {
        if !self.ledger.services.is_shared() {
            return live.ended().await;
        }
        while !live.task().has_ended() && !live.is_removed() {
            tokio::select! {
                () = live.ended() => {}
                () = tokio::time::sleep(SHARED_POLL) => self.ledger.refresh(live).await,
            }
        }
    }

    /// Repeats or ends a call that was running when its process ended. Returns false if another process runs it.
    async fn recover(self: &Arc<Self>, live: &Arc<LiveCall>) -> bool {
        let change_lock = live.change_lock.lock().await;
        match self.ledger.acquire(live).await {
            Ok(true) => {}
            Ok(false) => return live.is_removed(),
            Err(error) => {
                tracing::warn!(%error, id = %live.id, "a background task cannot be recovered");
                return false;
            }
        }
        drop(change_lock);
        let task = live.task();
        match self.ledger.services.tool_caller() {
            _ if task.has_ended() => self.ledger.release_if_idle(live).await,
            Err(_) => {
                self.ledger.release_if_idle(live).await;
                return false;
            }
            // The agent run that made the call has ended, and its budget with it.
            Ok(tool_caller) if task.may_resume() => self.spawn(tool_caller, live, None),
            Ok(_) => {
                let message = format!("the program ended while `{}` was running", shown_name(&task.tool));
                let error = ToolError::new(ErrorKind::OutcomeUnknown, message)
                    .with_hint("check if it took effect before you call it again");
                self.finish(live, |task| task.fail(TaskState::OutcomeUnknown, error)).await;
                self.ledger.release_if_idle(live).await;
            }
        }
        true
    }

    /// Executes a call that is in the ledger. It draws on the budget of the run that started it.
    fn spawn(
        self: &Arc<Self>,
        tool_caller: &Arc<dyn ToolCaller>,
        live: &Arc<LiveCall>,
        budget: Option<Arc<dyn RunBudget>>,
    ) {
        let (tool_caller, task) = (Arc::clone(tool_caller), live.task());
        let mut context =
            live.owner.context().with_cancel(live.local.cancel.clone()).with_run_key(Arc::clone(&live.id));
        context.deadline = Instant::now().checked_add(self.settings.max_duration);
        context.phase = live.local.phase.clone();
        context.progress = Some(Arc::clone(live) as _);
        context.budget = budget;
        context.journal = Some(if task.may_repeat {
            Arc::new(RepeatableCall)
        } else {
            Arc::new(CallStart { inner: Arc::clone(self), live: Arc::clone(live) })
        });
        context.depth = 1;
        let call = ToolCall::new(&task.tool, task.arguments.clone()).with_call_id(&*live.id);
        let work = tokio::spawn(async move { tool_caller.call(call, &context).await });
        self.follow(live, work);
    }

    /// Waits for the end of a call that is in the ledger, and records its outcome.
    fn follow(self: &Arc<Self>, live: &Arc<LiveCall>, mut work: JoinHandle<ToolResult>) {
        let (inner, live) = (Arc::clone(self), Arc::clone(live));
        let run = inner.ledger.begin_run(&live, live.created, live.local.cancel.clone());
        tokio::spawn(async move {
            let work = tokio::select! {
                biased;
                work = &mut work => work,
                () = inner.ledger.lease_lost(&live) => {
                    live.local.cancel.cancel();
                    work.await
                }
                () = inner.ledger.services.interrupted(&live.local.phase) => {
                    live.local.cancel.cancel();
                    if live.task().may_resume() {
                        work.abort();
                    }
                    work.await
                }
            };
            let is_cut_short = match &work {
                Ok(result) => result.error.as_ref().is_some_and(|error| error.kind == ErrorKind::Cancelled),
                Err(error) => error.is_cancelled(),
            };
            if is_cut_short && inner.ledger.services.closing().is_cancelled() && live.task().may_resume() {
                // It is made again after the next start, and asks again.
                drop(run);
                return inner.ledger.release_if_idle(&live).await;
            }
            let is_cancelled = live.local.cancel.is_cancelled();
            let record = |task: &mut BackgroundTask| match work {
                Ok(result) => task.record(result, is_cancelled),
                Err(error) => {
                    let message = format!("the call was aborted: {error}");
                    task.fail(TaskState::Failed, ToolError::new(ErrorKind::Internal, message));
                }
            };
            inner.finish(&live, record).await;
            drop(run);
            inner.ledger.release_if_idle(&live).await;
        });
    }

    /// Records the outcome of a call, and notifies its session.
    async fn finish(&self, live: &LiveCall, record: impl FnOnce(&mut BackgroundTask)) {
        let change_lock = live.change_lock.lock().await;
        let mut task = BackgroundTask::clone(&live.task());
        record(&mut task);
        task.ended = Some(self.ledger.services.clock.now());
        // A call that was removed meanwhile, or that another process has taken over, ends without a notification.
        if live.is_removed() || !self.ledger.renew_lease(live).await {
            return live.set(task);
        }
        let text = notification_text(&live.id, &task);
        // The outcome is persisted before the session is notified. After a failure it is visible in this process.
        let _ = self.ledger.persist(live, &task, Vec::new()).await;
        let is_awaited = live.local.is_awaited();
        live.set(task);
        drop(change_lock);
        if !is_awaited {
            self.ledger.services.tell(&live.owner, &text).await;
        }
    }

    /// Removes a result that was read from the store: it is not needed after a crash.
    async fn remove_read(&self, live: &LiveCall) {
        // A caller may come to another process next, for as long as results are retained.
        if !live.task().has_ended() || self.ledger.services.is_shared() {
            return;
        }
        let read = Change::remove(RecordKind::Background, live.id.as_ref());
        if let Err(error) = self.ledger.services.store.apply(vec![read]).await {
            tracing::warn!(%error, id = %live.id, "a result that was read cannot be removed from the store");
        }
    }

    async fn remove_expired(&self) {
        self.ledger.remove_expired(self.settings.retention).await;
    }
}

/// Returns the notification about a call that has ended.
fn notification_text(id: &str, task: &BackgroundTask) -> String {
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
    format!("The background task {id} ({tool}) {how}: {}", ellipsize_chars(&what, MAX_NOTIFIED_CHARS))
}
