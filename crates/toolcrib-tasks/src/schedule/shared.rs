//! Schedules whose store other processes have open too.
//!
//! Who runs a schedule has its lease, and only they write its record. Who cancels it meanwhile puts a mark beside it, which
//! they find. Without other processes all of this is nothing.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::Inner;
use super::record::Schedule;
use super::table::Live;
use crate::{Change, Kind, Record, StoreError};

/// How the id of a mark ends that says of a schedule that it was cancelled.
const MARK: &str = ".cancelled";

/// The id of the schedule that a mark is of.
pub(super) fn marked(id: &str) -> Option<&str> {
    id.strip_suffix(MARK)
}

/// The change that takes a mark away.
pub(super) fn unmark(id: &str) -> Change {
    Change::remove(Kind::Schedule, format!("{id}{MARK}"))
}

impl Inner {
    /// Takes the right to run a schedule, and looks at what others have made of it. The gate is held. `false` where it is
    /// not for this process to run.
    pub(super) async fn take_over(&self, live: &Live) -> bool {
        if !self.services.is_shared() {
            return true;
        }
        if !self.still_has(live).await {
            return false;
        }
        // What runs here nobody else has changed.
        if live.is_running() || !live.is_stored() {
            return true;
        }
        if let Err(error) = self.read_again(live).await {
            tracing::warn!(%error, id = live.id, "a schedule cannot be looked at before it is run");
            self.let_go(live).await;
            return false;
        }
        if self.table.get(&live.id).is_none() {
            self.let_go(live).await;
            return false;
        }
        let (now, mut schedule) = (self.services.clock.now(), Schedule::clone(&live.schedule()));
        let also = self.take_mark(live, &mut schedule, now).await;
        if !also.is_empty() {
            // It is tried again where it cannot be kept: the mark is still there then.
            let _ = self.keep(live, schedule, also).await;
        }
        true
    }

    /// Takes in what others have made of a schedule.
    pub(super) async fn read_again(&self, live: &Live) -> Result<(), StoreError> {
        match self.services.store.get(Kind::Schedule, &live.id).await? {
            Some(record) => self.take_in(live, &record),
            // Whoever has forgotten it knew that it was over.
            None => self.table.remove(&live.id),
        }
        Ok(())
    }

    fn take_in(&self, live: &Live, record: &Record) {
        match Schedule::read(record, &self.settings.time_zone) {
            Ok((schedule, _)) => live.set(schedule),
            Err(reason) => self.set_aside(&record.id, &reason),
        }
    }

    /// Takes in the schedules that others have made, and forgets those that they have forgotten.
    pub(super) async fn read_all_again(&self) -> Result<(), StoreError> {
        let records = self.services.store.load(Kind::Schedule).await?;
        let known: HashSet<&str> = records.iter().map(|record| record.id.as_str()).collect();
        for live in self.table.all() {
            let is_gone = live.is_stored() && !live.is_running() && !known.contains(live.id.as_str());
            // One that was made after they were read is none of those.
            if is_gone && self.services.store.get(Kind::Schedule, &live.id).await?.is_none() {
                self.table.remove(&live.id);
            }
        }
        for record in records.iter().filter(|record| marked(&record.id).is_none()) {
            let Some(live) = self.table.get(&record.id) else {
                self.take(record);
                continue;
            };
            // What is being changed is newer than what was read. Before a run it is read again anyway.
            if let Ok(_gate) = live.gate.try_lock()
                && !live.is_running()
            {
                self.take_in(&live, record);
                self.wake_interrupted(&live);
            }
        }
        Ok(())
    }

    /// Whether the right to run a schedule is this process's, which it is for the asking where nobody has it.
    pub(super) async fn still_has(&self, live: &Live) -> bool {
        match self.services.lease(&live.id).await {
            Ok(has) => has,
            Err(error) => {
                tracing::warn!(%error, id = live.id, "the lease of a schedule cannot be had");
                // Others cannot have it either while the store does not answer.
                live.is_running()
            }
        }
    }

    /// Gives the right back when nothing runs here. The gate is held.
    pub(super) async fn let_go(&self, live: &Live) {
        if self.services.is_shared() && !live.is_running() {
            self.services.release(&live.id).await;
        }
    }

    /// Says to the process that runs it that a schedule was cancelled.
    pub(super) async fn mark(&self, live: &Live) -> Result<(), StoreError> {
        let (id, session) = (format!("{}{MARK}", live.id), live.schedule().owner.session.clone());
        let mark = Record { kind: Kind::Schedule, id, session, body: json!({}) };
        self.services.store.apply(vec![Change::Put(mark)]).await
    }

    pub(super) async fn has_mark(&self, id: &str) -> bool {
        let mark = self.services.store.get(Kind::Schedule, &format!("{id}{MARK}")).await;
        // Where the store does not answer, it is asked again.
        mark.is_ok_and(|mark| mark.is_some())
    }

    /// Cancels a schedule that another process has marked, and gives the changes that go with that.
    pub(super) async fn take_mark(
        &self,
        live: &Live,
        schedule: &mut Schedule,
        now: Timestamp,
    ) -> Vec<Change> {
        if !self.services.is_shared() || !self.has_mark(&live.id).await {
            return Vec::new();
        }
        schedule.cancel(now);
        vec![unmark(&live.id)]
    }

    /// Takes in a schedule from the store.
    pub(super) fn take(&self, record: &Record) {
        match Schedule::read(record, &self.settings.time_zone) {
            Ok((schedule, time)) => {
                let live = Live::new(record.id.clone(), schedule, time, true);
                self.table.put(&live);
                self.wake_interrupted(&live);
            }
            Err(reason) => self.set_aside(&record.id, &reason),
        }
    }

    /// Sees to it that a schedule is looked at when it is time, which is now where a run was interrupted.
    pub(super) fn wake_interrupted(&self, live: &Arc<Live>) {
        let is_interrupted = live.schedule().running.iter().any(|started| !live.runs_here(started.due));
        if is_interrupted {
            self.table.wake_at(&live.id, Some(self.services.clock.now()));
            self.woken.notify_one();
        } else {
            self.wake(live);
        }
    }
}
