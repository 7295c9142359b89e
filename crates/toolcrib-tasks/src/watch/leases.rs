//! Leases on watchers, for stores that several processes share.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ToolError};

use super::watcher::Watcher;
use super::{WatchersInner, parse_entry};
use crate::services::LEASE_TIME;
use crate::{RecordKind, StoreError};

/// The time that a change waits for the check of another process.
const LEASE_WAIT: Duration = Duration::from_secs(5);
/// The interval at which a change polls for the lease.
const LEASE_POLL_INTERVAL: Duration = Duration::from_millis(250);

impl WatchersInner {
    /// Runs a turn under a lease, which is renewed meanwhile.
    pub(super) async fn shared_turn(&self, id: &str, work: impl Future<Output = ()>) {
        match self.services.lease(id).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(%error, %id, "a check is skipped, since the lease of its watcher cannot be acquired");
                return;
            }
        }
        let lost = async {
            loop {
                tokio::time::sleep(LEASE_TIME / 3).await;
                // After an error the lease is still valid for a while.
                if let Ok(false) = self.services.lease(id).await {
                    return;
                }
            }
        };
        let turn = async {
            if self.reload_if_due(id).await {
                work.await;
            }
        };
        tokio::select! {
            biased;
            () = turn => {}
            () = lost => tracing::warn!(%id, "another process has taken over the turn of a watcher"),
        }
        self.services.release(id).await;
    }

    /// Reloads a watcher, and returns true if it is due for a check.
    async fn reload_if_due(&self, id: &str) -> bool {
        match self.reload(id).await {
            Ok(true) => {}
            Ok(false) => {
                self.table.remove(id);
                return false;
            }
            Err(error) => {
                tracing::warn!(%error, %id, "a watcher cannot be reloaded");
                return false;
            }
        }
        let now = self.services.clock.now();
        let is_time = self.table.with(id, |entry| {
            let Watcher { last_check, firing, is_under_way, .. } = &entry.watcher;
            let since = last_check.and_then(|last| Duration::try_from(now.duration_since(last)).ok());
            // The timers of two processes differ slightly.
            let is_early = since.is_some_and(|since| since < entry.watcher.wait() * 9 / 10);
            !is_early || firing.is_some() || *is_under_way
        });
        is_time == Some(true)
    }

    /// Reloads the changes of other processes to a watcher, and returns false if it was removed. Unsaved changes of
    /// this process take precedence.
    async fn reload(&self, id: &str) -> Result<bool, StoreError> {
        let Some(writing) = self.table.writing(id) else { return Ok(false) };
        let _turn = writing.lock().await;
        let other = self.services.store.get(RecordKind::Watcher, id).await?.and_then(parse_entry);
        let is_known = self.table.with(id, |entry| match other {
            _ if entry.unsaved.is_some() => true,
            Some((_, other)) => {
                entry.watcher = other.watcher;
                true
            }
            None => false,
        });
        Ok(is_known == Some(true))
    }

    /// Loads the watchers that other processes have started or changed.
    pub(super) async fn reload_all(&self) {
        let records = match self.services.store.load(RecordKind::Watcher).await {
            Ok(records) => records,
            Err(error) => {
                tracing::warn!(%error, "the watchers of other processes cannot be read");
                return;
            }
        };
        for record in records {
            let Some((id, other)) = parse_entry(record) else { continue };
            match self.table.with(&id, |entry| entry.watcher.state == other.watcher.state || entry.has_turn())
            {
                None => self.table.insert(&id, other),
                // Other changes are loaded in its turn.
                Some(true) => {}
                Some(false) => {
                    if let Err(error) = self.reload(&id).await {
                        tracing::warn!(%error, %id, "a watcher cannot be reloaded");
                    }
                }
            }
        }
        self.schedule_all();
    }

    /// Acquires the lease to change a watcher that other processes may be checking.
    pub(super) async fn take_lease(&self, id: &str) -> Result<(), ToolError> {
        let end = Instant::now() + LEASE_WAIT;
        loop {
            // The lease of a check of this process also permits changes.
            match self.services.lease(id).await {
                Ok(true) => return Ok(()),
                Ok(false) if Instant::now() < end => tokio::time::sleep(LEASE_POLL_INTERVAL).await,
                Ok(false) => {
                    let message = format!("another process is checking `{id}`");
                    return Err(ToolError::new(ErrorKind::Unavailable, message).with_hint("try again"));
                }
                Err(error) => return Err(ToolError::new(ErrorKind::Unavailable, error.to_string())),
            }
        }
    }

    /// Releases the lease to change a watcher, unless a check in this process needs it.
    pub(super) async fn release_lease(&self, id: &str) {
        if self.table.with(id, |entry| entry.has_turn()) != Some(true) {
            self.services.release(id).await;
        }
    }
}
