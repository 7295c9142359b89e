//! One worker at a time, replaced when it ends.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout};
use toolcrib_io::process::Command;
use toolcrib_model::{ErrorKind, ToolError};

use super::process::{StartError, Worker};

/// A worker that ran for as long as this is replaced without a pause.
pub const STABLE_AFTER: Duration = Duration::from_secs(10);

/// The pause before a worker is started for the third time in a row; it doubles with each that fails or ends soon. The
/// second start follows at once.
pub const FIRST_RESTART_PAUSE: Duration = Duration::from_millis(200);

/// The longest pause before a worker is started again.
pub const MAX_RESTART_PAUSE: Duration = Duration::from_secs(30);

/// How long a worker may take to end when its input is closed, and again after `SIGTERM`.
const CLOSE_GRACE: Duration = Duration::from_secs(2);

/// The current worker.
#[derive(Default)]
pub(super) struct Slot(Mutex<Option<Arc<Worker>>>);

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<Worker>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the worker, if it is still this one.
    pub(super) fn clear(&self, worker: &Arc<Worker>) {
        let mut current = self.lock();
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, worker)) {
            *current = None;
        }
    }
}

/// Starts the worker of a module when one is needed, and again when it has ended.
#[derive(Default)]
pub(super) struct Supervisor {
    slot: Arc<Slot>,
    /// Held while a worker is started, so that all who need one wait for the same.
    history: tokio::sync::Mutex<History>,
    is_closed: AtomicBool,
    /// True if files of the worker have changed since it was started.
    is_stale: AtomicBool,
}

#[derive(Default)]
struct History {
    /// How many workers in a row did not start, or ended soon.
    failures: u32,
    /// When the next one may be started.
    next: Option<Instant>,
    /// Why the last one did not start or ended.
    reason: Option<Arc<str>>,
}

/// Why there is no worker.
#[derive(Clone, Debug)]
pub(super) struct NoWorker {
    kind: ErrorKind,
    message: String,
    is_retryable: bool,
}

impl fmt::Display for NoWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<NoWorker> for ToolError {
    fn from(error: NoWorker) -> Self {
        Self::new(error.kind, error.message).with_retryable(error.is_retryable)
    }
}

impl History {
    fn failed(&mut self, reason: Arc<str>) {
        self.failures = self.failures.saturating_add(1);
        let doublings = self.failures.checked_sub(2);
        let pause = doublings.map(|doublings| {
            FIRST_RESTART_PAUSE.saturating_mul(2_u32.saturating_pow(doublings)).min(MAX_RESTART_PAUSE)
        });
        self.next = pause.map(|pause| Instant::now() + pause);
        self.reason = Some(reason);
    }
}

impl Supervisor {
    /// Returns the worker, which is started where none runs. `prepare` is run with each new one before anything else.
    pub(super) async fn ready(
        &self,
        command: impl FnOnce() -> Command,
        label: &str,
        limit: Duration,
        prepare: impl AsyncFnOnce(&Arc<Worker>) -> Result<(), String>,
    ) -> Result<Arc<Worker>, NoWorker> {
        if let Some(worker) = self.alive() {
            return Ok(worker);
        }
        let mut history = self.history.lock().await;
        if let Some(worker) = self.alive() {
            return Ok(worker);
        }
        let unavailable = |message| NoWorker { kind: ErrorKind::Unavailable, message, is_retryable: true };
        if self.is_closed.load(Ordering::Acquire) {
            let message = format!("the worker {label} is closed");
            return Err(NoWorker { is_retryable: false, ..unavailable(message) });
        }
        if self.is_stale.swap(false, Ordering::AcqRel) {
            self.slot.lock().take();
            *history = History::default();
        }
        if let Some(ended) = self.slot.lock().take() {
            if ended.started.elapsed() >= STABLE_AFTER {
                *history = History::default();
            }
            history.failed(ended.loss());
        }
        if let Some(next) = history.next
            && let Some(pause) = next.checked_duration_since(Instant::now())
        {
            let (seconds, failures) = (pause.as_secs_f64(), history.failures);
            let reason = history.reason.as_deref().unwrap_or_default();
            let message = format!(
                "the worker {label} failed {failures} times in a row, and is started again in {seconds:.1} s: {reason}"
            );
            return Err(unavailable(message));
        }
        let started = timeout(limit, async {
            let worker = Worker::start(&command(), label, Arc::downgrade(&self.slot)).await?;
            prepare(&worker).await.map_err(StartError::Broken)?;
            Ok(worker)
        });
        match started.await {
            Ok(Ok(worker)) => {
                *self.slot.lock() = Some(Arc::clone(&worker));
                Ok(worker)
            }
            Ok(Err(StartError::NotStarted(error @ toolcrib_io::Error::ProgramNotAllowed { .. }))) => {
                Err(NoWorker { kind: ErrorKind::Denied, message: error.to_string(), is_retryable: false })
            }
            Ok(Err(error)) => {
                let message = format!("the worker {label} does not start: {error}");
                history.failed(message.as_str().into());
                Err(unavailable(message))
            }
            Err(_) => {
                let message = format!("the worker {label} did not start within {} s", limit.as_secs());
                history.failed(message.as_str().into());
                Err(unavailable(message))
            }
        }
    }

    /// Returns the worker where it runs.
    pub(super) fn alive(&self) -> Option<Arc<Worker>> {
        let is_current = !self.is_stale.load(Ordering::Acquire);
        self.slot.lock().as_ref().filter(|worker| is_current && worker.is_alive()).cloned()
    }

    /// Gives the worker no more calls, also one that is being started. It ends when the last of its calls has ended. The
    /// next is started without a pause.
    pub(super) fn retire(&self) {
        self.is_stale.store(true, Ordering::Release);
    }

    /// Ends the worker, and starts no other.
    pub(super) async fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        // One that is being started ends with its start.
        let _history = self.history.lock().await;
        let worker = self.slot.lock().take();
        if let Some(worker) = worker {
            worker.close(CLOSE_GRACE).await;
        }
    }
}
