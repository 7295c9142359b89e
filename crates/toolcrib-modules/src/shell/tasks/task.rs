//! One background task.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use toolcrib_io::process::{Command, follow};

use super::super::output_buffer::{LogSlice, OutputLog};
use super::super::run::{ExitInfo, TERM_GRACE};

/// The maximum size of the stored output of a task, in bytes: its end.
pub const MAX_LOG_BYTES: usize = 1024 * 1024;

/// The maximum length of a command in results, in characters.
const MAX_COMMAND_CHARS: usize = 200;

/// The exit of a task, or the reason why it did not run to its end.
type TaskOutcome = Result<ExitInfo, String>;

/// A background task. Dropping it kills the program with all processes that it has started.
pub(in crate::shell) struct BackgroundTask {
    id: String,
    session: Arc<str>,
    command: String,
    began: Instant,
    log: Arc<Mutex<OutputLog>>,
    outcome: watch::Receiver<Option<TaskOutcome>>,
    stop: CancellationToken,
    running: AbortHandle,
}

impl Drop for BackgroundTask {
    fn drop(&mut self) {
        // Dropping its future ends the process group.
        self.running.abort();
    }
}

impl BackgroundTask {
    /// Starts a command with a time limit.
    pub(super) fn start(
        id: String,
        session: Arc<str>,
        command: Command,
        stdin: Option<Bytes>,
        limit: Duration,
    ) -> Self {
        let log = Arc::new(Mutex::new(OutputLog::new(MAX_LOG_BYTES)));
        let stop = CancellationToken::new();
        let (sender, outcome) = watch::channel(None);
        let shown = command.argv.join(" ").chars().take(MAX_COMMAND_CHARS).collect();
        let (written_log, stop_requested) = (Arc::clone(&log), stop.clone());
        let running = tokio::spawn(async move {
            let mut timed_out = false;
            let time_is_over = async {
                tokio::select! {
                    () = stop_requested.cancelled() => {}
                    () = tokio::time::sleep(limit) => timed_out = true,
                }
            };
            let take = |_, bytes: &[u8]| written_log.lock().add(bytes);
            let ended = follow(&command, stdin, take, time_is_over, TERM_GRACE).await;
            let outcome =
                ended.map(|ended| ExitInfo::of(&ended, timed_out)).map_err(|error| error.to_string());
            sender.send_replace(Some(outcome));
        });
        let running = running.abort_handle();
        Self { id, session, command: shown, began: Instant::now(), log, outcome, stop, running }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn session(&self) -> &str {
        &self.session
    }

    pub(super) fn command(&self) -> &str {
        &self.command
    }

    pub(super) fn began(&self) -> Instant {
        self.began
    }

    pub(super) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64().round()
    }

    /// Returns the outcome, if the task has ended.
    pub(super) fn outcome(&self) -> Option<TaskOutcome> {
        self.outcome.borrow().clone()
    }

    pub(super) fn is_running(&self) -> bool {
        self.outcome.borrow().is_none() && !self.running.is_finished()
    }

    /// Asks the program to end, and kills it after [`TERM_GRACE`].
    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until the task has ended, for any reason.
    pub(super) async fn ended(&self) {
        // A sender that is dropped without an outcome ended with the runtime, and the program with it.
        let _ = self.outcome.clone().wait_for(Option::is_some).await;
    }

    pub(super) fn slice(&self, offset: Option<u64>, limit: usize) -> LogSlice {
        self.log.lock().slice(offset, limit, self.is_running())
    }
}
