//! A version of the served app.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use toolcrib_app::App;
use toolcrib_runtime::Runtime;

use crate::Error;

/// The time that calls of an earlier version of the app have to end. It exceeds the default time that a call waits for
/// an approval.
const RETIRE_TIME: Duration = Duration::from_mins(10);

/// One version of the app.
pub(crate) struct AppVersion {
    pub(crate) runtime: Arc<Runtime>,
    leases: TaskTracker,
}

/// A lease, which keeps a version of the app from being closed. A request is admitted and executed by the same version.
#[derive(Clone)]
pub(crate) struct Lease {
    pub(crate) runtime: Arc<Runtime>,
    _open: TaskTrackerToken,
}

impl AppVersion {
    pub(crate) fn new(runtime: Arc<Runtime>) -> Self {
        Self { runtime, leases: TaskTracker::new() }
    }

    /// Returns a lease. Callers that run during a reload take it while the version is current.
    pub(crate) fn lease(&self) -> Lease {
        Lease { runtime: Arc::clone(&self.runtime), _open: self.leases.token() }
    }

    /// Closes the version when its last lease has ended.
    pub(crate) async fn retire(&self, closing: &CancellationToken) {
        self.leases.close();
        tokio::select! {
            ended = timeout(RETIRE_TIME, self.leases.wait()) => if ended.is_err() {
                tracing::warn!("calls of an earlier version of the app have not ended, and are cancelled");
            },
            () = closing.cancelled() => {}
        }
        self.runtime.close().await;
    }
}

/// A listener whose rules depend on the version of the app.
pub(crate) trait Listener: Send + Sync {
    /// Creates the rules of another version of the app.
    fn prepare(self: Arc<Self>, app: &App) -> Result<Switch, Error>;
}

/// A function that makes a listener use a prepared version of the app.
pub(crate) type Switch = Box<dyn FnOnce(Arc<AppVersion>) + Send>;
