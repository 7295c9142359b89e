//! A watcher in this process.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use serde::Deserialize as _;
use serde_json::Value;
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ToolError};

use super::WatcherSettings;
use super::status::{WatcherMetrics, WatcherState, WatcherStatus};
use super::watcher::{Check, Watcher};
use crate::condition::Condition;
use crate::ledger::{Bound, Counted, Live, Scope, Task};
use crate::owner::Owner;
use crate::store::RecordKind;

/// The maximum number of checks in the history of a watcher.
pub const MAX_WATCH_HISTORY: usize = 100;

/// The note on a watcher whose turn waits for an approval.
const WAITING_NOTE: &str = "it waits for a person to approve a call";

pub(super) type LiveWatcher = Live<Watcher, LocalWatcher>;

/// The state of a watcher that is not stored.
pub(super) struct LocalWatcher {
    pub(super) condition: Option<Condition>,
    history: Mutex<VecDeque<Check>>,
}

impl Task for Watcher {
    const KIND: RecordKind = RecordKind::Watcher;
    const NAME: &'static str = "watcher";
    const ID_PREFIX: &'static str = "watch";
    const HINT_WITHOUT_TASKS: &'static str = "there are no watchers; start one with `watch_start`";
    const KEEPS_UNSAVED: bool = true;

    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn created(&self) -> Timestamp {
        self.created
    }

    fn waits_for_person(&self) -> bool {
        self.waits_for_person
    }

    fn ended(&self) -> Option<Timestamp> {
        self.ended
    }
}

impl LocalWatcher {
    pub(super) fn new(condition: Option<Condition>) -> Self {
        Self { condition, history: Mutex::default() }
    }

    /// Parses the body of a record, or returns the reason why it is unreadable.
    pub(super) fn read(body: &Value) -> Result<(Watcher, Self), String> {
        let watcher = Watcher::deserialize(body).map_err(|error| error.to_string())?;
        let condition = watcher.request.parsed_condition().map_err(|error| error.to_string())?;
        Ok((watcher, Self::new(condition)))
    }

    pub(super) fn remember(&self, mut check: Check) {
        let mut history = self.history.lock();
        // Consecutive equal values share an allocation.
        if let Some(last) = history.back() {
            if last.shown == check.shown {
                check.shown.clone_from(&last.shown);
            }
            if last.error == check.error {
                check.error.clone_from(&last.error);
            }
        }
        history.push_back(check);
        while history.len() > MAX_WATCH_HISTORY {
            history.pop_front();
        }
    }

    /// Returns the checks, the last one first.
    pub(super) fn history(&self) -> Vec<Check> {
        self.history.lock().iter().rev().cloned().collect()
    }
}

impl LiveWatcher {
    /// Returns the status at a time. `due` is the time of the next check.
    pub(super) fn status(&self, now: Timestamp, due: Option<Instant>) -> WatcherStatus {
        let watcher = self.task();
        let Watcher { request, reason, created, last_check, seen, last_error, metrics, .. } = &*watcher;
        let state = watcher.displayed_state();
        let left = due.map(|due| due.saturating_duration_since(Instant::now()));
        WatcherStatus {
            watcher_id: self.id.as_ref().to_owned(),
            name: request.name.clone(),
            label: request.label.clone(),
            status: state,
            reason: reason.clone(),
            interval: request.interval,
            notify_when: request.notify_when,
            condition: request.condition.clone(),
            max_checks: request.max_checks,
            created: *created,
            last_check: *last_check,
            next_check: left.and_then(|left| now.checked_add(left).ok()),
            last_value: seen.as_ref().map(|seen| seen.shown.clone()),
            last_error: last_error.clone(),
            metrics: WatcherMetrics::from(metrics),
            note: (state == WatcherState::WaitingForApproval).then(|| WAITING_NOTE.to_owned()),
        }
    }
}

impl WatcherSettings {
    /// Returns the limits of watchers. The narrowest comes first: a watcher that is removed for it makes room in all.
    pub(super) fn bounds(&self) -> [Bound; 3] {
        [
            Bound::new(Scope::Session, Counted::Both, self.max_per_session)
                .evicting()
                .refusing(|count, _| limit_reached(count, " in this session")),
            Bound::new(Scope::Client, Counted::Both, self.max_per_client)
                .evicting()
                .refusing(|count, _| limit_reached(count, " of this client")),
            Bound::new(Scope::All, Counted::Both, self.max_watchers)
                .evicting()
                .refusing(|count, _| limit_reached(count, "")),
        ]
    }
}

fn limit_reached(count: usize, of: &str) -> ToolError {
    ToolError::new(ErrorKind::LimitReached, format!("there are {count} watchers{of}, which is the limit"))
        .with_hint("stop one with `watch_stop`; `watch_list` lists them")
}

/// Returns the next due time of a watcher: the first multiple of its wait after `began` that is in the future.
pub(super) fn next_due(watcher: &Watcher, began: Instant) -> Instant {
    let wait = watcher.wait();
    let passed = began.elapsed().as_nanos() / wait.as_nanos().max(1);
    let waits = u32::try_from(passed).unwrap_or(u32::MAX).saturating_add(1);
    let from_now = wait.saturating_mul(waits).saturating_sub(began.elapsed());
    Instant::now() + from_now.min(wait).max(Duration::from_millis(1))
}
