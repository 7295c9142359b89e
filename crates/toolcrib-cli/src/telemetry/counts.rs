//! The numbers of spans or records that are not sent, and why.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

/// The numbers of unsent spans or records.
#[derive(Debug)]
pub(super) struct Counts {
    /// The name of what is sent, in the plural.
    pub(super) what: &'static str,
    unsent: AtomicU64,
    /// In the batch that is being sent, or in the queue.
    pending: AtomicU64,
    why: Mutex<Option<String>>,
}

impl Counts {
    pub(super) fn of(what: &'static str) -> Self {
        Self { what, unsent: AtomicU64::new(0), pending: AtomicU64::new(0), why: Mutex::default() }
    }

    /// Records the number of spans in the queue and in the batch that is being sent.
    pub(super) fn set_pending(&self, spans: u64) {
        self.pending.store(spans, Ordering::Relaxed);
    }

    /// There was no room for a span.
    pub(super) fn no_room(&self) {
        self.failed(1, "they came faster than the collector took them");
    }

    /// The end of the process does not wait any longer.
    pub(super) fn gave_up(&self, waited: Duration) {
        let pending = self.pending.load(Ordering::Relaxed);
        self.failed(pending, &format!("the collector did not answer within {} s", waited.as_secs()));
    }

    /// Returns the number of spans that were not sent, and the first reason.
    pub(super) fn unsent(&self) -> Option<(u64, String)> {
        let unsent = self.unsent.load(Ordering::Relaxed);
        let why = self.why.lock().clone();
        (unsent > 0).then(|| (unsent, why.unwrap_or_default()))
    }

    pub(super) fn failed(&self, spans: u64, why: &str) {
        let before = self.unsent.fetch_add(spans, Ordering::Relaxed);
        if before == 0 && spans > 0 {
            tracing::warn!(why, "{} are not sent", self.what);
            *self.why.lock() = Some(why.to_owned());
        }
    }
}
