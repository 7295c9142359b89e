//! The reload of the served app.

use std::sync::{Arc, Weak};

use toolcrib_app::App;
use toolcrib_port::Approver;
use toolcrib_runtime::Runtime;

use crate::app_version::{AppVersion, Switch};
use crate::approval::PendingApprovals;
use crate::server::Shared;
use crate::{Error, Server};

impl Server {
    /// Returns the current app.
    pub fn runtime(&self) -> Arc<Runtime> {
        self.shared.runtime()
    }

    /// Replaces the app with another version, with its tools, rules, tokens and limits. Running calls end with the
    /// version that started them, which is then closed, after ten minutes at the latest. Data of sessions and on
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
        let switches = self.shared.switches_to(&next.app)?;
        let reloading = self.approvals.as_ref().map(PendingApprovals::begin_reload);
        let (runtime, switches, outcome) = match old.successor(next, Arc::clone(&approver)).await {
            Ok(runtime) => (runtime, switches, Ok(())),
            Err(error) => {
                // Its tasks had to end before those of the new version started, so it starts again.
                let again = old.next_version(old.app().clone())?;
                let switches = self.shared.switches_to(&again.app)?;
                (old.successor(again, approver).await?, switches, Err(error.into()))
            }
        };
        self.shared.swap(Arc::new(runtime), switches);
        drop(reloading);
        outcome
    }

    /// Closes the app and the remaining earlier versions.
    pub async fn close(&self) {
        self.shared.draining.cancel();
        self.shared.closing.cancel();
        if let Some(pending) = &self.approvals {
            pending.end();
        }
        self.shared.retiring.close();
        self.shared.retiring.wait().await;
        if let Some(replica) = &self.shared.settings.replica {
            replica.leave().await;
        }
        self.shared.runtime().close().await;
    }
}

impl Shared {
    /// Prepares each listener for another version of the app.
    fn switches_to(&self, app: &App) -> Result<Vec<Switch>, Error> {
        let listeners = self.listeners.lock();
        listeners.iter().filter_map(Weak::upgrade).map(|listener| listener.prepare(app)).collect()
    }

    fn swap(self: &Arc<Self>, runtime: Arc<Runtime>, switches: Vec<Switch>) {
        if let Some(replica) = &self.settings.replica {
            replica.follow(&runtime);
        }
        let version = Arc::new(AppVersion::new(runtime));
        for switch in switches {
            switch(Arc::clone(&version));
        }
        let old = self.version.send_replace(version);
        let closing = self.closing.clone();
        self.retiring.spawn(async move { old.retire(&closing).await });
    }
}
