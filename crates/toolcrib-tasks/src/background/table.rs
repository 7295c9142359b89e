//! The calls that are known.

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

/// How much of what a tool says of its progress is told, in characters.
const PROGRESS_CHARS: usize = 200;

/// The note on a call that has not begun for the lack of an answer.
const WAITING_NOTE: &str = "the call has not started: it waits for a person to approve it";

/// A call that runs or has run.
#[derive(Clone)]
pub(super) struct Live {
    /// As it was when this was taken from the table.
    pub(super) task: Arc<Task>,
    pub(super) cancel: CancellationToken,
    /// The stage of the call, where this process makes it.
    pub(super) phase: PhaseTracker,
    over: watch::Sender<bool>,
    progress: Arc<Mutex<Option<String>>>,
    /// How many wait for its end.
    waiting: Arc<AtomicUsize>,
}

/// Somebody who waits for the end of a call, and need not be told of it.
pub(super) struct Waiting(Arc<AtomicUsize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Live {
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

    /// Whether it is over by now.
    pub(super) fn has_ended(&self) -> bool {
        *self.over.borrow()
    }

    /// Comes back when it is over.
    pub(super) async fn ended(&self) {
        // The sender is this one's own.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }

    /// Comes back when the gate has decided, asks a person, or the call is over.
    pub(super) async fn judged(&self) {
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

    pub(super) fn waits(&self) -> Waiting {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        Waiting(Arc::clone(&self.waiting))
    }

    pub(super) fn progressed(&self, progress: &Progress) {
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

    /// All there is to tell.
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

/// The calls of all sessions, by their ids.
#[derive(Default)]
pub(super) struct Table {
    calls: Mutex<HashMap<String, Live>>,
}

impl Table {
    pub(super) fn put(&self, id: String, live: Live) {
        self.calls().insert(id, live);
    }

    /// Adds a call that is about to run, and gives the ids of those that are forgotten for it.
    pub(super) fn begin(
        &self,
        id: &str,
        live: &Live,
        settings: &BackgroundSettings,
    ) -> Result<Vec<String>, ToolError> {
        let mut calls = self.calls();
        let session = &live.task.owner.session;
        let of_session = || calls.iter().filter(|(_, other)| other.task.owner.session == *session);
        let running = of_session().filter(|(_, other)| !other.is_over()).count();
        if running >= settings.max_running {
            let message = format!("{running} calls run in the background, and no more can");
            return Err(ToolError::new(ErrorKind::LimitReached, message)
                .with_hint("wait for one of them, or cancel one"));
        }
        let of_client = calls.values().filter(|other| other.task.owner.has_client_of(&live.task.owner));
        let running = of_client.filter(|other| !other.is_over()).count();
        if running >= settings.max_running_of_client {
            let message = format!(
                "{running} calls of this client run in the background in all its sessions, and no more can"
            );
            return Err(ToolError::new(ErrorKind::LimitReached, message)
                .with_hint("wait for one of them, or cancel one"));
        }
        let mut over: Vec<_> =
            of_session().filter_map(|(id, other)| Some((other.task.ended?, id.clone()))).collect();
        let surplus = (of_session().count() + 1).saturating_sub(settings.max_kept);
        over.sort();
        let forgotten: Vec<String> = over.into_iter().take(surplus).map(|(_, id)| id).collect();
        for id in &forgotten {
            calls.remove(id);
        }
        calls.insert(id.to_owned(), live.clone());
        Ok(forgotten)
    }

    /// Puts down how a call has ended, and says whether nobody waits for that. `None` where it was forgotten.
    pub(super) fn end(&self, id: &str, task: Task) -> Option<bool> {
        let mut calls = self.calls();
        let live = calls.get_mut(id)?;
        live.task = Arc::new(task);
        let is_awaited = live.waiting.load(Ordering::Acquire) > 0;
        live.over.send_replace(true);
        Some(is_awaited)
    }

    pub(super) fn get(&self, id: &str) -> Option<Live> {
        self.calls().get(id).cloned()
    }

    /// A call of whoever asks.
    pub(super) fn find(&self, id: &str, context: &CallContext) -> Result<Live, ToolError> {
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

    /// All of whoever asks, in the order in which they were started.
    pub(super) fn of(&self, context: &CallContext) -> Vec<(String, Live)> {
        let mut own = self.matching(|live| live.task.owner.is(context));
        own.sort_by(|(a_id, a), (b_id, b)| (a.task.started, a_id).cmp(&(b.task.started, b_id)));
        own
    }

    /// All of everybody, in the order in which they were started.
    pub(super) fn all(&self) -> Vec<(String, Live)> {
        let mut all = self.matching(|_| true);
        all.sort_by(|(a_id, a), (b_id, b)| (a.task.started, a_id).cmp(&(b.task.started, b_id)));
        all
    }

    /// Returns a call of a session that waits for a person.
    pub(super) fn waiting_in(&self, session: &str) -> Option<Live> {
        let waits =
            |live: &Live| live.task.owner.session == session && live.state() == TaskState::WaitingForApproval;
        self.matching(waits).pop().map(|(_, live)| live)
    }

    pub(super) fn running(&self) -> Vec<(String, Live)> {
        self.matching(|live| !live.is_over())
    }

    /// Forgets the calls of a session, and gives them.
    pub(super) fn take_session(&self, session: &str) -> Vec<(String, Live)> {
        self.calls().extract_if(|_, live| live.task.owner.session == session).collect()
    }

    /// Forgets what ended before, and gives its ids.
    pub(super) fn forget(&self, oldest: Timestamp) -> Vec<String> {
        let is_old = |_: &String, live: &mut Live| live.task.ended.is_some_and(|ended| ended < oldest);
        self.calls().extract_if(is_old).map(|(id, _)| id).collect()
    }

    fn matching(&self, wanted: impl Fn(&Live) -> bool) -> Vec<(String, Live)> {
        let calls = self.calls();
        calls.iter().filter(|(_, live)| wanted(live)).map(|(id, live)| (id.clone(), live.clone())).collect()
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, Live>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskStatus {
    /// Without what may be long, for lists.
    pub(super) fn without_result(mut self) -> Self {
        if self.result.take().is_some() {
            self.note = Some("its result is read with its `task_id`".to_owned());
        }
        self
    }

    /// Adds what else there is to know.
    pub(super) fn with_note(mut self, note: String) -> Self {
        self.note = Some(note);
        self
    }
}
