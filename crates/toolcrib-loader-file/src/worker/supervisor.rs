//! The supervision of a worker: restarts it when it has ended.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout};
use toolcrib_io::process::Command;
use toolcrib_model::{ErrorKind, ToolError};

use super::process::{Slot, StartError, Worker};

/// The uptime after which a worker is restarted without a pause.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// The pause before the third start in a row. It doubles with each worker that fails or ends early. The second start
/// follows at once.
const FIRST_RESTART_PAUSE: Duration = Duration::from_millis(200);

/// The longest pause before a worker is started again.
const MAX_RESTART_PAUSE: Duration = Duration::from_secs(30);

/// The time that a worker has to end after its input is closed, and again after `SIGTERM`.
const CLOSE_GRACE: Duration = Duration::from_secs(2);

/// A supervisor that starts the worker of a module when it is needed, and again after it has ended.
#[derive(Default)]
pub(super) struct Supervisor {
    slot: Arc<Slot>,
    /// Held while a worker is started, so that concurrent callers wait for the same one.
    history: tokio::sync::Mutex<RestartHistory>,
    is_closed: AtomicBool,
    /// True while no caller may use the module.
    is_suspended: AtomicBool,
    /// True if files of the worker have changed since it was started.
    is_stale: AtomicBool,
}

#[derive(Default)]
struct RestartHistory {
    /// The number of consecutive workers that did not start, or ended early.
    failures: u32,
    /// The earliest time of the next start.
    next: Option<Instant>,
    /// The reason that the last one did not start or ended.
    reason: Option<Arc<str>>,
}

/// The error of a worker that cannot be had.
#[derive(Clone, Debug)]
pub(super) struct WorkerUnavailable {
    kind: ErrorKind,
    message: String,
    is_retryable: bool,
}

impl fmt::Display for WorkerUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<WorkerUnavailable> for ToolError {
    fn from(error: WorkerUnavailable) -> Self {
        Self::new(error.kind, error.message).with_retryable(error.is_retryable)
    }
}

impl RestartHistory {
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
    /// Returns the running worker, or starts one. `prepare` initializes each new worker before its first call.
    pub(super) async fn ready(
        &self,
        command: impl FnOnce() -> Command,
        label: &str,
        limit: Duration,
        prepare: impl AsyncFnOnce(&Arc<Worker>) -> Result<(), String>,
    ) -> Result<Arc<Worker>, WorkerUnavailable> {
        if let Some(worker) = self.running() {
            return Ok(worker);
        }
        let mut history = self.history.lock().await;
        if let Some(worker) = self.running() {
            return Ok(worker);
        }
        let unavailable =
            |message| WorkerUnavailable { kind: ErrorKind::Unavailable, message, is_retryable: true };
        if self.is_closed.load(Ordering::Acquire) {
            let message = format!("the worker {label} is closed");
            return Err(WorkerUnavailable { is_retryable: false, ..unavailable(message) });
        }
        if self.is_suspended() {
            let message = format!("the worker {label} is not started while its source is disabled");
            return Err(WorkerUnavailable { is_retryable: false, ..unavailable(message) });
        }
        if self.is_stale.swap(false, Ordering::AcqRel) {
            self.slot.0.lock().take();
            *history = RestartHistory::default();
        }
        if let Some(ended) = self.slot.0.lock().take() {
            if ended.started.elapsed() >= STABLE_AFTER {
                *history = RestartHistory::default();
            }
            history.failed(ended.end_reason());
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
                *self.slot.0.lock() = Some(Arc::clone(&worker));
                Ok(worker)
            }
            Ok(Err(StartError::NotStarted(error @ toolcrib_io::Error::ProgramNotAllowed { .. }))) => {
                Err(WorkerUnavailable {
                    kind: ErrorKind::Denied,
                    message: error.to_string(),
                    is_retryable: false,
                })
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

    /// Returns the worker if it is running.
    pub(super) fn running(&self) -> Option<Arc<Worker>> {
        let is_current = !self.is_stale.load(Ordering::Acquire);
        self.slot.0.lock().as_ref().filter(|worker| is_current && worker.is_alive()).cloned()
    }

    /// Sends no more calls to the worker, nor to one that is being started. It ends with the last of its calls. The
    /// next one is started without a pause.
    pub(super) fn retire(&self) {
        self.is_stale.store(true, Ordering::Release);
    }

    /// Ends the worker, and starts no other until [`resume`](Self::resume). Calls under way end.
    pub(super) async fn suspend(&self) {
        self.is_suspended.store(true, Ordering::Release);
        self.end_worker().await;
    }

    /// Lets a worker be started again.
    pub(super) fn resume(&self) {
        self.is_suspended.store(false, Ordering::Release);
    }

    /// Returns true if no worker is started.
    pub(super) fn is_suspended(&self) -> bool {
        self.is_suspended.load(Ordering::Acquire)
    }

    /// Ends the worker, and starts no other.
    pub(super) async fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.end_worker().await;
    }

    async fn end_worker(&self) {
        // A worker that is being started ends with its start.
        let _history = self.history.lock().await;
        let worker = self.slot.0.lock().take();
        if let Some(worker) = worker {
            worker.close(CLOSE_GRACE).await;
        }
    }
}
