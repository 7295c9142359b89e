//! The served app, and its reload.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use toolcrib_app::App;
use toolcrib_port::Approver;
use toolcrib_runtime::Runtime;

use crate::server::Shared;
use crate::{Error, Server};

/// The time that calls of an earlier version of the app have to end. It exceeds the default time that a call waits for
/// an approval.
pub const RETIRE_TIME: Duration = Duration::from_mins(10);

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
    async fn retire(&self, closing: &CancellationToken) {
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

impl Server {
    /// Returns the current app.
    pub fn runtime(&self) -> Arc<Runtime> {
        self.shared.runtime()
    }

    /// Replaces the app with another version, with its tools, rules, tokens and limits. Running calls end with the
    /// version that started them, which is then closed, after [`RETIRE_TIME`] at the latest. Data of sessions and on
    /// disk is kept. The approvals that a client's user has remembered are dropped, since the rules may differ.
    /// Background calls continue as after a restart.
    ///
    /// The address, `serve.limits.connections` and `head_seconds` do not change.
    ///
    /// # Errors
    ///
    /// Returns an error if the new version cannot be served or started. The earlier one stays in service.
    pub async fn reload(&self, app: App, approver: Arc<dyn Approver>) -> Result<(), Error> {
        let _one_at_a_time = self.shared.reloading.lock().await;
        // Possible errors are found before the earlier version ends.
        let old = self.shared.runtime();
        let next = old.next_version(app)?;
        let rules = self.shared.rules_of(&next.app)?;
        let (runtime, rules, outcome) = match old.successor(next, Arc::clone(&approver)).await {
            Ok(runtime) => (runtime, rules, Ok(())),
            Err(error) => {
                // Its tasks had to end before those of the new version started, so it starts again.
                let again = old.next_version(old.app().clone())?;
                let rules = self.shared.rules_of(&again.app)?;
                (old.successor(again, approver).await?, rules, Err(error.into()))
            }
        };
        self.shared.swap(Arc::new(runtime), rules);
        outcome
    }

    /// Closes the app and the remaining earlier versions.
    pub async fn close(&self) {
        self.shared.draining.cancel();
        self.shared.closing.cancel();
        self.shared.retiring.close();
        self.shared.retiring.wait().await;
        self.shared.runtime().close().await;
    }
}

impl Shared {
    fn swap(self: &Arc<Self>, runtime: Arc<Runtime>, rules: Vec<crate::http::NextRules>) {
        let version = Arc::new(AppVersion::new(runtime));
        for rules in rules {
            rules.take_effect(Arc::clone(&version));
        }
        let old = self.version.send_replace(version);
        let closing = self.closing.clone();
        self.retiring.spawn(async move { old.retire(&closing).await });
    }
}
