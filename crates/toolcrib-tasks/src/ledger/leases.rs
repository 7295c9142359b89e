//! Leases and cancel markers, for stores that several processes share.
//!
//! The process that runs a task holds its lease, and only that process writes its record. Another process cancels the
//! task with a cancel marker, a separate record that the lease holder applies. If the store is not shared, all leases
//! succeed. A write of a process that has lost the lease is refused.

use std::collections::HashSet;

use serde_json::json;

use super::Ledger;
use super::due::DueTime;
use super::task::{Live, LocalState, Task};
use crate::services::LEASE_TIME;
use crate::store::{Change, Record, RecordKind, StoreError};

/// The suffix of the ids of cancel markers.
const CANCEL_MARKER_SUFFIX: &str = ".cancelled";

/// Returns the id of the task if `id` is that of a cancel marker.
pub(crate) fn cancel_marker_target(id: &str) -> Option<&str> {
    id.strip_suffix(CANCEL_MARKER_SUFFIX)
}

/// Returns the change that removes the cancel marker of a task.
pub(crate) fn remove_cancel_marker(kind: RecordKind, id: &str) -> Change {
    Change::remove(kind, format!("{id}{CANCEL_MARKER_SUFFIX}"))
}

impl<T: Task, L: LocalState, D: DueTime> Ledger<T, L, D> {
    /// Acquires the lease of a task, and reloads the changes of other processes. Returns false if another process holds
    /// the lease, or has removed the task. The caller holds the change lock.
    pub(crate) async fn acquire(&self, live: &Live<T, L>) -> Result<bool, StoreError> {
        // Other processes do not change a task that runs here.
        if live.is_running() && self.services.is_shared() {
            return self.services.lease(&live.id).await;
        }
        let acquired = self.acquire_for_run(live).await;
        if !matches!(acquired, Ok(true)) {
            self.release_if_idle(live).await;
        }
        acquired
    }

    /// Acquires the lease of a task whose run has begun here. Otherwise the same as [`acquire`](Self::acquire).
    pub(crate) async fn acquire_for_run(&self, live: &Live<T, L>) -> Result<bool, StoreError> {
        if !self.services.is_shared() {
            return Ok(true);
        }
        if !self.services.lease(&live.id).await? {
            return Ok(false);
        }
        if live.is_stored() {
            self.reload(live).await?;
        }
        Ok(!live.is_removed())
    }

    /// Renews the lease of a task. Returns false if another process holds it.
    pub(crate) async fn renew_lease(&self, live: &Live<T, L>) -> bool {
        match self.services.lease(&live.id).await {
            Ok(has) => has,
            Err(error) => {
                tracing::warn!(%error, id = %live.id, "the lease of a {} cannot be renewed", T::NAME);
                // Other processes cannot acquire it either while the store is unavailable.
                live.is_running()
            }
        }
    }

    /// Renews the lease of a run until another process holds it or has cancelled the task. Does not complete if the
    /// store is not shared.
    pub(crate) async fn lease_lost(&self, live: &Live<T, L>) {
        if !self.services.is_shared() {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(LEASE_TIME / 3).await;
            if !self.renew_lease(live).await || self.has_cancel_marker(live).await {
                return;
            }
        }
    }

    /// Releases the lease if no run is in progress here.
    pub(crate) async fn release_if_idle(&self, live: &Live<T, L>) {
        if !live.is_running() {
            self.services.release(&live.id).await;
        }
    }

    /// Reloads the changes of other processes to a task that does not run here.
    pub(crate) async fn refresh(&self, live: &Live<T, L>) {
        if !self.services.is_shared() || !live.is_stored() {
            return;
        }
        let _change_lock = live.change_lock.lock().await;
        if !live.is_running()
            && let Err(error) = self.reload(live).await
        {
            tracing::warn!(%error, id = %live.id, "the changes of other processes to a {} cannot be read", T::NAME);
        }
    }

    /// Reloads a task that other processes may have changed or removed. The caller holds the change lock.
    pub(crate) async fn reload(&self, live: &Live<T, L>) -> Result<(), StoreError> {
        let record = self.services.store.get(T::KIND, &live.id).await?;
        if T::KEEPS_UNSAVED && live.unsaved().is_some() {
            return Ok(());
        }
        match record {
            Some(record) => self.update(live, &record),
            None => self.table.remove(&live.id),
        }
        Ok(())
    }

    fn update(&self, live: &Live<T, L>, record: &Record) {
        if let Some((task, _)) = self.parse(record) {
            live.set(task);
        }
    }

    /// Loads the tasks that other processes have created or changed, and removes those that they have removed.
    pub(crate) async fn reload_all(&self) {
        if let Err(error) = self.try_reload_all().await {
            tracing::warn!(%error, "the {}s of other processes cannot be read", T::NAME);
        }
    }

    async fn try_reload_all(&self) -> Result<(), StoreError> {
        let records = self.services.store.load(T::KIND).await?;
        let known: HashSet<&str> = records.iter().map(|record| record.id.as_str()).collect();
        for live in self.all() {
            let is_gone = live.is_stored() && !live.is_running() && !known.contains(live.id.as_ref());
            // A task that was created after the records were read is in the store now.
            if is_gone && let Ok(_change_lock) = live.change_lock.try_lock() {
                self.reload(&live).await?;
            }
        }
        for record in &records {
            let Ok(live) = self.get(&record.id) else {
                self.load(record);
                continue;
            };
            // A task that is being changed is newer than the record. It is reloaded before each run anyway.
            if let Ok(_change_lock) = live.change_lock.try_lock()
                && !live.is_running()
                && !(T::KEEPS_UNSAVED && live.unsaved().is_some())
            {
                self.update(&live, record);
            }
        }
        Ok(())
    }

    /// Writes a cancel marker for the process that runs a task.
    pub(crate) async fn put_cancel_marker(&self, live: &Live<T, L>) -> Result<(), StoreError> {
        let (id, session) = (format!("{}{CANCEL_MARKER_SUFFIX}", live.id), live.owner.session.clone());
        let marker = Record { kind: T::KIND, id, session, body: json!({}) };
        self.services.store.apply(vec![Change::Put(marker)]).await
    }

    /// Returns true if another process has cancelled a task.
    pub(crate) async fn has_cancel_marker(&self, live: &Live<T, L>) -> bool {
        let marker = format!("{}{CANCEL_MARKER_SUFFIX}", live.id);
        // The check is repeated, so a failure is ignored.
        self.services.is_shared()
            && self.services.store.get(T::KIND, &marker).await.is_ok_and(|marker| marker.is_some())
    }
}
