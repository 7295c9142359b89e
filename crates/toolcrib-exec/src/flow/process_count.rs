//! The number of processes that share a rate limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of processes that serve one app, of which each has an equal share of the rate limits. Clones share the
/// number.
#[derive(Clone, Debug)]
pub struct ProcessCount(Arc<AtomicU32>);

impl Default for ProcessCount {
    fn default() -> Self {
        Self(Arc::new(AtomicU32::new(1)))
    }
}

impl ProcessCount {
    /// Sets the number. This process counts, so 0 means 1.
    pub fn set(&self, processes: u32) {
        self.0.store(processes.max(1), Ordering::Relaxed);
    }

    /// Returns the number.
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}
