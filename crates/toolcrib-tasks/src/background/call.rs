//! A background call in this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::{CallPhase, PhaseTracker, Progress, ProgressListener};

use super::BackgroundSettings;
use super::task::{BackgroundTask, TaskState, TaskStatus};
use crate::ledger::{Bound, Counted, Live, Scope, Task};
use crate::owner::Owner;
use crate::store::RecordKind;
use crate::text::shown_name;

/// The maximum length of a progress message in characters.
const PROGRESS_CHARS: usize = 200;

/// The note on a call that waits for an approval.
const WAITING_NOTE: &str = "the call has not started: it waits for a person to approve it";

pub(super) type LiveCall = Live<BackgroundTask, LocalCall>;

/// The state of a background call that is not stored.
#[derive(Default)]
pub(super) struct LocalCall {
    pub(super) cancel: CancellationToken,
    /// The phase of the call, if this process executes it.
    pub(super) phase: PhaseTracker,
    progress: Mutex<Option<String>>,
    /// The number of callers that wait for its end.
    waiting: AtomicUsize,
}

/// A guard of a caller that waits for the end of a call, so that no notification is needed.
pub(super) struct WaiterGuard(pub(super) Arc<LiveCall>);

impl Task for BackgroundTask {
    const KIND: RecordKind = RecordKind::Background;
    const NAME: &'static str = "background task";
    const ID_PREFIX: &'static str = "task";
    const HINT_WITHOUT_TASKS: &'static str =
        "none was started, or all results have been forgotten; start the call again";

    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn created(&self) -> Timestamp {
        self.started
    }

    fn ended(&self) -> Option<Timestamp> {
        self.ended
    }
}

impl WaiterGuard {
    pub(super) fn new(live: &Arc<LiveCall>) -> Self {
        live.local.waiting.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(live))
    }
}

impl Drop for WaiterGuard {
    fn drop(&mut self) {
        self.0.local.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

impl LocalCall {
    pub(super) fn new(phase: PhaseTracker) -> Self {
        Self { phase, ..Self::default() }
    }

    /// Returns true if a caller waits for the end of the call.
    pub(super) fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }
}

/// Records the progress of the call.
impl ProgressListener for LiveCall {
    fn progress(&self, progress: &Progress) {
        let mut text = match progress.total {
            Some(total) => format!("{} of {total}", progress.done),
            None => progress.done.to_string(),
        };
        if let Some(message) = &progress.message {
            text.push_str(": ");
            text.extend(message.chars().take(PROGRESS_CHARS));
        }
        *self.local.progress.lock() = Some(text);
    }
}

impl LiveCall {
    /// Waits until the call has ended.
    pub(super) async fn ended(&self) {
        self.wait_until(BackgroundTask::has_ended).await;
    }

    /// Waits until the policy has decided, a person is asked, or the call has ended.
    pub(super) async fn decided(&self) {
        tokio::select! {
            () = self.local.phase.wait_until(|phase| phase != CallPhase::Pending) => {}
            () = self.ended() => {}
        }
    }

    pub(super) fn state(&self) -> TaskState {
        match (self.task().state, self.local.phase.phase()) {
            (TaskState::Running, CallPhase::WaitingForPerson) => TaskState::WaitingForApproval,
            (state, _) => state,
        }
    }

    /// Returns the status of the call.
    pub(super) fn status(&self) -> TaskStatus {
        let (task, state) = (self.task(), self.state());
        let BackgroundTask { tool, started, ended, result, handle, facts, error, .. } = &*task;
        TaskStatus {
            task_id: self.id.as_ref().to_owned(),
            tool: shown_name(tool),
            status: state,
            started: *started,
            ended: *ended,
            progress: (!task.has_ended()).then(|| self.local.progress.lock().clone()).flatten(),
            result: (state == TaskState::Completed && !result.is_null()).then(|| result.clone()),
            handle: handle.clone(),
            error: error.clone(),
            note: match state {
                TaskState::WaitingForApproval => Some(WAITING_NOTE.to_owned()),
                _ => facts.clone(),
            },
        }
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

impl BackgroundSettings {
    /// Returns the limits of running calls, and of the calls that are retained.
    pub(super) fn bounds(&self) -> [Bound; 3] {
        [
            Bound::new(Scope::Session, Counted::Active, self.max_running).refusing(|running, _| {
                let message =
                    format!("{running} background calls of this session are running, which is the limit");
                limit_reached(message)
            }),
            Bound::new(Scope::Client, Counted::Active, self.max_running_of_client).refusing(|running, _| {
                limit_reached(format!(
                    "{running} background calls of this client are running in all its sessions, which is the limit"
                ))
            }),
            Bound::new(Scope::Session, Counted::Both, self.max_retained).evicting(),
        ]
    }
}

fn limit_reached(message: String) -> ToolError {
    ToolError::new(ErrorKind::LimitReached, message).with_hint("wait for one of them, or cancel one")
}
