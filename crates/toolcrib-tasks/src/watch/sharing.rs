//! What is different where several processes share a store.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ToolError};

use super::watcher::Watcher;
use super::{Inner, entry};
use crate::services::LEASE_TIME;
use crate::{Kind, StoreError};

/// How long a change waits for the check of another process, and how often it looks.
const LEASE_WAIT: Duration = Duration::from_secs(5);
const LEASE_LOOK: Duration = Duration::from_millis(250);

impl Inner {
    /// A turn, with the right to it.
    pub(super) async fn shared_turn(&self, id: &str, work: impl Future<Output = ()>) {
        match self.services.lease(id).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(%error, %id, "a check is left out: it is not known whether others make it");
                return;
            }
        }
        let lost = async {
            loop {
                tokio::time::sleep(LEASE_TIME / 3).await;
                // Where that is not known, it holds for a while yet.
                if let Ok(false) = self.services.lease(id).await {
                    return;
                }
            }
        };
        let turn = async {
            if self.take_in(id).await {
                work.await;
            }
        };
        tokio::select! {
            biased;
            () = turn => {}
            () = lost => tracing::warn!(%id, "the turn of a watcher was taken over by another process"),
        }
        self.services.release(id).await;
    }

    /// Takes in what other processes have written, and says whether it is the time for a check.
    async fn take_in(&self, id: &str) -> bool {
        match self.take_over(id).await {
            Ok(true) => {}
            Ok(false) => {
                self.table.remove(id);
                return false;
            }
            Err(error) => {
                tracing::warn!(%error, %id, "what others know of a watcher is not known");
                return false;
            }
        }
        let now = self.services.clock.now();
        let is_time = self.table.with(id, |entry| {
            let Watcher { last_check, firing, is_under_way, .. } = &entry.watcher;
            let since = last_check.and_then(|last| Duration::try_from(now.duration_since(last)).ok());
            // The timers of two processes are never quite the same.
            let is_early = since.is_some_and(|since| since < entry.watcher.wait() * 9 / 10);
            !is_early || firing.is_some() || *is_under_way
        });
        is_time == Some(true)
    }

    /// Takes over what another process has written of a watcher, and says whether it is still there. What this process has
    /// not written yet is newer.
    async fn take_over(&self, id: &str) -> Result<bool, StoreError> {
        let Some(writing) = self.table.writing(id) else { return Ok(false) };
        let _turn = writing.lock().await;
        let other = self.services.store.get(Kind::Watcher, id).await?.and_then(entry);
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

    /// Takes up the watchers that other processes have started or changed.
    pub(super) async fn adopt(&self) {
        let records = match self.services.store.load(Kind::Watcher).await {
            Ok(records) => records,
            Err(error) => {
                tracing::warn!(%error, "what other processes watch is not known");
                return;
            }
        };
        for record in records {
            let Some((id, other)) = entry(record) else { continue };
            match self.table.with(&id, |entry| entry.watcher.state == other.watcher.state || entry.has_turn())
            {
                None => self.table.insert(&id, other),
                // What else is new is taken in when it has its turn.
                Some(true) => {}
                Some(false) => {
                    if let Err(error) = self.take_over(&id).await {
                        tracing::warn!(%error, %id, "what others know of a watcher is not known");
                    }
                }
            }
        }
        self.schedule_all();
    }

    /// Takes the right to change a watcher, where others may be checking it.
    pub(super) async fn take_lease(&self, id: &str) -> Result<(), ToolError> {
        let end = Instant::now() + LEASE_WAIT;
        loop {
            // This process holds the lease of its own checks, and changes are made beside them.
            match self.services.lease(id).await {
                Ok(true) => return Ok(()),
                Ok(false) if Instant::now() < end => tokio::time::sleep(LEASE_LOOK).await,
                Ok(false) => {
                    let message = format!("another process is checking `{id}`");
                    return Err(ToolError::new(ErrorKind::Unavailable, message).with_hint("try again"));
                }
                Err(error) => return Err(ToolError::new(ErrorKind::Unavailable, error.to_string())),
            }
        }
    }

    /// Gives back the right to change a watcher, unless its own check needs it.
    pub(super) async fn give_lease(&self, id: &str) {
        if self.table.with(id, |entry| entry.has_turn()) != Some(true) {
            self.services.release(id).await;
        }
    }
}
