//! One program that runs on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use toolcrib_io::process::{Command, follow};

use super::super::output::{Log, Slice};
use super::super::run::{End, TERM_GRACE};

/// How much of what a task writes is kept, in bytes: its end.
pub const MAX_LOG_BYTES: usize = 1024 * 1024;

/// How much of a command is told, in characters.
const MAX_COMMAND_CHARS: usize = 200;

/// How a task ended, or why it did not run to its end.
type Outcome = Result<End, String>;

/// A program that runs on, or did. Dropping it kills the program with all that it has started.
pub(in crate::shell) struct Task {
    id: String,
    session: Arc<str>,
    command: String,
    began: Instant,
    log: Arc<Mutex<Log>>,
    outcome: watch::Receiver<Option<Outcome>>,
    stop: CancellationToken,
    running: AbortHandle,
}

impl Drop for Task {
    fn drop(&mut self) {
        // Its future goes, and the process group with it.
        self.running.abort();
    }
}

impl Task {
    /// Starts a command that may run so long.
    pub(super) fn start(
        id: String,
        session: Arc<str>,
        command: Command,
        stdin: Option<Bytes>,
        limit: Duration,
    ) -> Self {
        let log = Arc::new(Mutex::new(Log::new(MAX_LOG_BYTES)));
        let stop = CancellationToken::new();
        let (sender, outcome) = watch::channel(None);
        let shown = command.argv.join(" ").chars().take(MAX_COMMAND_CHARS).collect();
        let (written, asked) = (Arc::clone(&log), stop.clone());
        let running = tokio::spawn(async move {
            let mut timed_out = false;
            let time_is_over = async {
                tokio::select! {
                    () = asked.cancelled() => {}
                    () = tokio::time::sleep(limit) => timed_out = true,
                }
            };
            let take = |_, bytes: &[u8]| lock(&written).add(bytes);
            let ended = follow(&command, stdin, take, time_is_over, TERM_GRACE).await;
            let outcome = ended.map(|ended| End::of(&ended, timed_out)).map_err(|error| error.to_string());
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

    /// How it ended, if it has.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        self.outcome.borrow().clone()
    }

    pub(super) fn is_running(&self) -> bool {
        self.outcome.borrow().is_none() && !self.running.is_finished()
    }

    /// Asks it to end; it is killed where it does not.
    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits for its end, whatever that is.
    pub(super) async fn ended(&self) {
        // A sender that is gone without an outcome was dropped with the runtime, and the program with it.
        let _ = self.outcome.clone().wait_for(Option::is_some).await;
    }

    pub(super) fn slice(&self, offset: Option<u64>, limit: usize) -> Slice {
        lock(&self.log).slice(offset, limit, self.is_running())
    }
}

fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}
