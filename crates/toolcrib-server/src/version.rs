//! The app that is served, one version of it after the other.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use toolcrib_port::Approver;
use toolcrib_runtime::{App, Runtime};

use crate::server::Shared;
use crate::{Error, Server};

/// How long calls of a version may go on once another has taken its place; longer than a call waits for an approval unless the
/// app says otherwise.
pub const RETIRE_TIME: Duration = Duration::from_mins(10);

/// The app as it was read at one time.
pub(crate) struct Version {
    pub(crate) runtime: Arc<Runtime>,
    leases: TaskTracker,
}

/// A version of the app that is not closed while this is there. Who is let in, and all that is done for them, is of one version.
#[derive(Clone)]
pub(crate) struct Lease {
    pub(crate) runtime: Arc<Runtime>,
    _open: TaskTrackerToken,
}

impl Version {
    pub(crate) fn new(runtime: Arc<Runtime>) -> Self {
        Self { runtime, leases: TaskTracker::new() }
    }

    /// Keeps it from being closed. Whoever may be beside a reload takes it while the version is in its place.
    pub(crate) fn lease(&self) -> Lease {
        Lease { runtime: Arc::clone(&self.runtime), _open: self.leases.token() }
    }

    /// Closes it when nobody has it any more.
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
    /// The app as it is now.
    pub fn runtime(&self) -> Arc<Runtime> {
        self.shared.runtime()
    }

    /// Serves another version of the app from now on, with its tools, rules, tokens and limits. Calls that are under way end
    /// with the version that they began with, which is closed then, after [`RETIRE_TIME`] at the latest. What is kept for
    /// sessions and on the disk stays; what a client's user has allowed from now on does not, since the rules are others.
    /// Background calls are as after a restart.
    ///
    /// The address, `serve.limits.connections` and `head_seconds` stay as they were.
    ///
    /// # Errors
    ///
    /// Where the new version cannot be served or started. The earlier one goes on then.
    pub async fn reload(&self, app: App, approver: Arc<dyn Approver>) -> Result<(), Error> {
        let _one_at_a_time = self.shared.reloading.lock().await;
        // What can be wrong with it is found before anything ends.
        let rules = self.shared.rules_of(&app)?;
        let old = self.shared.runtime();
        let (runtime, rules, outcome) = match old.successor(app, Arc::clone(&approver)).await {
            Ok(runtime) => (runtime, rules, Ok(())),
            Err(error) => {
                // Its tasks had to end for the others to begin, so it begins anew.
                let again = old.app().clone();
                let rules = self.shared.rules_of(&again)?;
                (old.successor(again, approver).await?, rules, Err(error.into()))
            }
        };
        self.shared.swap(Arc::new(runtime), rules);
        outcome
    }

    /// Ends the app, and what is left of earlier versions of it.
    pub async fn close(&self) {
        self.shared.draining.cancel();
        self.shared.closing.cancel();
        self.shared.retiring.close();
        self.shared.retiring.wait().await;
        self.shared.runtime().close().await;
    }
}

impl Shared {
    fn swap(self: &Arc<Self>, runtime: Arc<Runtime>, rules: Vec<crate::http::NewRules>) {
        let version = Arc::new(Version::new(runtime));
        for rules in rules {
            rules.take_effect(Arc::clone(&version));
        }
        let old = self.version.send_replace(version);
        let closing = self.closing.clone();
        self.retiring.spawn(async move { old.retire(&closing).await });
    }
}
