//! Leases and cancel markers, for stores that several processes share.
//!
//! The process that runs a schedule holds its lease, and only that process writes its record. Another process cancels
//! the schedule with a cancel marker, a separate record that the lease holder applies. If the store is not shared, all
//! leases succeed and markers are unused.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::SchedulesInner;
use super::record::Schedule;
use super::table::LiveSchedule;
use crate::{Change, Record, RecordKind, StoreError};

/// The suffix of the ids of cancel markers.
const CANCEL_MARKER_SUFFIX: &str = ".cancelled";

/// Returns the id of the schedule if `id` is that of a cancel marker.
pub(super) fn cancel_marker_target(id: &str) -> Option<&str> {
    id.strip_suffix(CANCEL_MARKER_SUFFIX)
}

/// Returns the change that removes the cancel marker of a schedule.
pub(super) fn remove_cancel_marker(id: &str) -> Change {
    Change::remove(RecordKind::Schedule, format!("{id}{CANCEL_MARKER_SUFFIX}"))
}

impl SchedulesInner {
    /// Acquires the lease of a schedule, and reloads the changes of other processes. Returns false if this process may
    /// not run it. The caller holds the change lock.
    pub(super) async fn acquire(&self, live: &LiveSchedule) -> bool {
        if !self.services.is_shared() {
            return true;
        }
        if !self.renew_lease(live).await {
            return false;
        }
        // Other processes do not change a schedule that runs here.
        if live.is_running() || !live.is_stored() {
            return true;
        }
        if let Err(error) = self.reload(live).await {
            tracing::warn!(%error, id = live.id, "a schedule cannot be reloaded before its run");
            self.release_if_idle(live).await;
            return false;
        }
        if self.table.get(&live.id).is_none() {
            self.release_if_idle(live).await;
            return false;
        }
        let (now, mut schedule) = (self.services.clock.now(), Schedule::clone(&live.schedule()));
        let also = self.apply_cancel_marker(live, &mut schedule, now).await;
        if !also.is_empty() {
            // After a failure the marker still exists, so this is retried.
            let _ = self.save(live, schedule, also).await;
        }
        true
    }

    /// Reloads a schedule that other processes may have changed.
    pub(super) async fn reload(&self, live: &LiveSchedule) -> Result<(), StoreError> {
        match self.services.store.get(RecordKind::Schedule, &live.id).await? {
            Some(record) => self.update_from(live, &record),
            // Only ended schedules are removed from the store.
            None => self.table.remove(&live.id),
        }
        Ok(())
    }

    fn update_from(&self, live: &LiveSchedule, record: &Record) {
        match Schedule::read(record, &self.settings.time_zone) {
            Ok((schedule, _)) => live.set(schedule),
            Err(reason) => self.add_unreadable(&record.id, &reason),
        }
    }

    /// Loads the schedules that other processes have created, and removes those that they have removed.
    pub(super) async fn reload_all(&self) -> Result<(), StoreError> {
        let records = self.services.store.load(RecordKind::Schedule).await?;
        let known: HashSet<&str> = records.iter().map(|record| record.id.as_str()).collect();
        for live in self.table.all() {
            let is_gone = live.is_stored() && !live.is_running() && !known.contains(live.id.as_str());
            // A schedule that was created after the records were read is in the store now.
            if is_gone && self.services.store.get(RecordKind::Schedule, &live.id).await?.is_none() {
                self.table.remove(&live.id);
            }
        }
        for record in records.iter().filter(|record| cancel_marker_target(&record.id).is_none()) {
            let Some(live) = self.table.get(&record.id) else {
                self.load_record(record);
                continue;
            };
            // A schedule that is being changed is newer than the record. It is reloaded before each run anyway.
            if let Ok(_change_lock) = live.change_lock.try_lock()
                && !live.is_running()
            {
                self.update_from(&live, record);
                self.wake_interrupted(&live);
            }
        }
        Ok(())
    }

    /// Acquires or renews the lease of a schedule. Returns false if another process holds it.
    pub(super) async fn renew_lease(&self, live: &LiveSchedule) -> bool {
        match self.services.lease(&live.id).await {
            Ok(has) => has,
            Err(error) => {
                tracing::warn!(%error, id = live.id, "the lease of a schedule cannot be acquired");
                // Other processes cannot acquire it either while the store is unavailable.
                live.is_running()
            }
        }
    }

    /// Releases the lease if no run is in progress here. The caller holds the change lock.
    pub(super) async fn release_if_idle(&self, live: &LiveSchedule) {
        if self.services.is_shared() && !live.is_running() {
            self.services.release(&live.id).await;
        }
    }

    /// Writes a cancel marker for the process that runs a schedule.
    pub(super) async fn put_cancel_marker(&self, live: &LiveSchedule) -> Result<(), StoreError> {
        let (id, session) =
            (format!("{}{CANCEL_MARKER_SUFFIX}", live.id), live.schedule().owner.session.clone());
        let mark = Record { kind: RecordKind::Schedule, id, session, body: json!({}) };
        self.services.store.apply(vec![Change::Put(mark)]).await
    }

    pub(super) async fn has_cancel_marker(&self, id: &str) -> bool {
        let mark =
            self.services.store.get(RecordKind::Schedule, &format!("{id}{CANCEL_MARKER_SUFFIX}")).await;
        // The check is repeated, so a failure is ignored.
        mark.is_ok_and(|mark| mark.is_some())
    }

    /// Cancels a schedule that has a cancel marker, and returns the change that removes the marker.
    pub(super) async fn apply_cancel_marker(
        &self,
        live: &LiveSchedule,
        schedule: &mut Schedule,
        now: Timestamp,
    ) -> Vec<Change> {
        if !self.services.is_shared() || !self.has_cancel_marker(&live.id).await {
            return Vec::new();
        }
        schedule.cancel(now);
        vec![remove_cancel_marker(&live.id)]
    }

    /// Adds a schedule from the store.
    pub(super) fn load_record(&self, record: &Record) {
        match Schedule::read(record, &self.settings.time_zone) {
            Ok((schedule, time)) => {
                let live = LiveSchedule::new(record.id.clone(), schedule, time, true);
                self.table.put(&live);
                self.wake_interrupted(&live);
            }
            Err(reason) => self.add_unreadable(&record.id, &reason),
        }
    }

    /// Registers the time at which a schedule must be processed next, which is now if a run was interrupted.
    pub(super) fn wake_interrupted(&self, live: &Arc<LiveSchedule>) {
        let is_interrupted = live.schedule().running.iter().any(|started| !live.runs_here(started.due));
        if is_interrupted {
            self.table.wake_at(&live.id, Some(self.services.clock.now()));
            self.woken.notify_one();
        } else {
            self.wake(live);
        }
    }
}
