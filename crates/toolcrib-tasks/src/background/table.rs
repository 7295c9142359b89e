//! The table of background calls.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::{CallContext, CallPhase, PhaseTracker, Progress};

use super::task::{Task, TaskState, TaskStatus};
use super::{BackgroundSettings, not_found};
use crate::text::shown_name;

/// The maximum length of a progress message in characters.
const PROGRESS_CHARS: usize = 200;

/// The note on a call that waits for an approval.
const WAITING_NOTE: &str = "the call has not started: it waits for a person to approve it";

/// A background call in this process. Clones share its state, except for the snapshot of the task.
#[derive(Clone)]
pub(super) struct LiveTask {
    /// The task at the time when this clone was taken from the table.
    pub(super) task: Arc<Task>,
    pub(super) cancel: CancellationToken,
    /// The phase of the call, if this process executes it.
    pub(super) phase: PhaseTracker,
    over: watch::Sender<bool>,
    progress: Arc<Mutex<Option<String>>>,
    /// The number of callers that wait for its end.
    waiting: Arc<AtomicUsize>,
}

/// A guard of a caller that waits for the end of a call, so that no notification is needed.
pub(super) struct WaiterGuard(Arc<AtomicUsize>);

impl Drop for WaiterGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl LiveTask {
    pub(super) fn new(task: Task, phase: PhaseTracker) -> Self {
        Self {
            over: watch::Sender::new(task.state != TaskState::Running),
            task: Arc::new(task),
            cancel: CancellationToken::new(),
            phase,
            progress: Arc::default(),
            waiting: Arc::default(),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.task.state != TaskState::Running
    }

    /// Returns true if the call has ended by now.
    pub(super) fn has_ended(&self) -> bool {
        *self.over.borrow()
    }

    /// Waits until the call has ended.
    pub(super) async fn ended(&self) {
        // `self` holds the sender, so this cannot fail.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }

    /// Waits until the policy has decided, a person is asked, or the call has ended.
    pub(super) async fn decided(&self) {
        tokio::select! {
            () = self.phase.wait_until(|phase| phase != CallPhase::Pending) => {}
            () = self.ended() => {}
        }
    }

    fn state(&self) -> TaskState {
        match (self.task.state, self.phase.phase()) {
            (TaskState::Running, CallPhase::WaitingForPerson) => TaskState::WaitingForApproval,
            (state, _) => state,
        }
    }

    pub(super) fn add_waiter(&self) -> WaiterGuard {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        WaiterGuard(Arc::clone(&self.waiting))
    }

    pub(super) fn set_progress(&self, progress: &Progress) {
        let mut text = match progress.total {
            Some(total) => format!("{} of {total}", progress.done),
            None => progress.done.to_string(),
        };
        if let Some(message) = &progress.message {
            text.push_str(": ");
            text.extend(message.chars().take(PROGRESS_CHARS));
        }
        *self.progress() = Some(text);
    }

    /// Returns the status of the call.
    pub(super) fn status(&self, id: &str) -> TaskStatus {
        let Task { tool, started, ended, result, handle, facts, error, .. } = &*self.task;
        let state = self.state();
        TaskStatus {
            task_id: id.to_owned(),
            tool: shown_name(tool),
            status: state,
            started: *started,
            ended: *ended,
            progress: (!self.is_over()).then(|| self.progress().clone()).flatten(),
            result: (state == TaskState::Completed && !result.is_null()).then(|| result.clone()),
            handle: handle.clone(),
            error: error.clone(),
            note: match state {
                TaskState::WaitingForApproval => Some(WAITING_NOTE.to_owned()),
                _ => facts.clone(),
            },
        }
    }

    fn progress(&self) -> MutexGuard<'_, Option<String>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The background calls of all sessions, by id.
#[derive(Default)]
pub(super) struct TaskTable {
    calls: Mutex<HashMap<String, LiveTask>>,
}

impl TaskTable {
    pub(super) fn put(&self, id: String, live: LiveTask) {
        self.calls().insert(id, live);
    }

    /// Adds a call, and returns the ids of the ended calls that are removed to make room for it. Returns an error if
    /// the session or the client has reached its limit of running calls.
    pub(super) fn add(
        &self,
        id: &str,
        live: &LiveTask,
        settings: &BackgroundSettings,
    ) -> Result<Vec<String>, ToolError> {
        let mut calls = self.calls();
        let session = &live.task.owner.session;
        let of_session = || calls.iter().filter(|(_, other)| other.task.owner.session == *session);
        let running = of_session().filter(|(_, other)| !other.is_over()).count();
        if running >= settings.max_running {
            let message =
                format!("{running} background calls of this session are running, which is the limit");
            return Err(ToolError::new(ErrorKind::LimitReached, message)
                .with_hint("wait for one of them, or cancel one"));
        }
        let of_client = calls.values().filter(|other| other.task.owner.shares_client_with(&live.task.owner));
        let running = of_client.filter(|other| !other.is_over()).count();
        if running >= settings.max_running_of_client {
            let message = format!(
                "{running} background calls of this client are running in all its sessions, which is the limit"
            );
            return Err(ToolError::new(ErrorKind::LimitReached, message)
                .with_hint("wait for one of them, or cancel one"));
        }
        let mut over: Vec<_> =
            of_session().filter_map(|(id, other)| Some((other.task.ended?, id.clone()))).collect();
        let surplus = (of_session().count() + 1).saturating_sub(settings.max_retained);
        over.sort();
        let forgotten: Vec<String> = over.into_iter().take(surplus).map(|(_, id)| id).collect();
        for id in &forgotten {
            calls.remove(id);
        }
        calls.insert(id.to_owned(), live.clone());
        Ok(forgotten)
    }

    /// Records the end of a call, and returns true if a caller waits for it. Returns `None` if the call was removed.
    pub(super) fn complete(&self, id: &str, task: Task) -> Option<bool> {
        let mut calls = self.calls();
        let live = calls.get_mut(id)?;
        live.task = Arc::new(task);
        let is_awaited = live.waiting.load(Ordering::Acquire) > 0;
        live.over.send_replace(true);
        Some(is_awaited)
    }

    pub(super) fn get(&self, id: &str) -> Option<LiveTask> {
        self.calls().get(id).cloned()
    }

    /// Returns a call of the caller by its id.
    pub(super) fn find(&self, id: &str, context: &CallContext) -> Result<LiveTask, ToolError> {
        let own = self.of(context);
        if let Some((_, live)) = own.iter().find(|(known, _)| known == id) {
            return Ok(live.clone());
        }
        let known: Vec<&str> = own.iter().map(|(id, _)| id.as_str()).collect();
        let hint = match known.len() {
            0 => "none was started, or all results have been forgotten; start the call again".to_owned(),
            _ => format!("there are {}", known.join(", ")),
        };
        Err(not_found(id).with_hint(hint))
    }

    /// Returns the calls of the caller, in the order in which they were started.
    pub(super) fn of(&self, context: &CallContext) -> Vec<(String, LiveTask)> {
        let mut own = self.matching(|live| live.task.owner.matches(context));
        own.sort_by(|(a_id, a), (b_id, b)| (a.task.started, a_id).cmp(&(b.task.started, b_id)));
        own
    }

    /// Returns the calls of all owners, in the order in which they were started.
    pub(super) fn all(&self) -> Vec<(String, LiveTask)> {
        let mut all = self.matching(|_| true);
        all.sort_by(|(a_id, a), (b_id, b)| (a.task.started, a_id).cmp(&(b.task.started, b_id)));
        all
    }

    /// Returns a call of a session that waits for a person.
    pub(super) fn waiting_in(&self, session: &str) -> Option<LiveTask> {
        let waits = |live: &LiveTask| {
            live.task.owner.session == session && live.state() == TaskState::WaitingForApproval
        };
        self.matching(waits).pop().map(|(_, live)| live)
    }

    pub(super) fn running(&self) -> Vec<(String, LiveTask)> {
        self.matching(|live| !live.is_over())
    }

    /// Removes and returns the calls of a session.
    pub(super) fn take_session(&self, session: &str) -> Vec<(String, LiveTask)> {
        self.calls().extract_if(|_, live| live.task.owner.session == session).collect()
    }

    /// Removes the calls that ended before a time, and returns their ids.
    pub(super) fn remove_ended_before(&self, oldest: Timestamp) -> Vec<String> {
        let is_old = |_: &String, live: &mut LiveTask| live.task.ended.is_some_and(|ended| ended < oldest);
        self.calls().extract_if(is_old).map(|(id, _)| id).collect()
    }

    fn matching(&self, wanted: impl Fn(&LiveTask) -> bool) -> Vec<(String, LiveTask)> {
        let calls = self.calls();
        calls.iter().filter(|(_, live)| wanted(live)).map(|(id, live)| (id.clone(), live.clone())).collect()
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, LiveTask>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskStatus {
    /// Removes the result, which may be long, for lists.
    pub(super) fn without_result(mut self) -> Self {
        if self.result.take().is_some() {
            self.note = Some("its result is read with its `task_id`".to_owned());
        }
        self
    }

    /// Sets the note.
    pub(super) fn with_note(mut self, note: String) -> Self {
        self.note = Some(note);
        self
    }
}
