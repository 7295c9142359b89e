//! Rates that several processes count together.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::process_count::ProcessCount;

/// A store in which several processes count the calls of a rate limit.
#[async_trait]
pub trait SharedRates: Send + Sync {
    /// Counts a call of the rate with an id, unless it is early by more than the tolerance. Returns the time after which
    /// it may be attempted again, which is zero if it was counted.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be reached.
    async fn count(&self, id: &str, interval: Duration, tolerance: Duration) -> Result<Duration, String>;
}

/// The other processes that serve an app, as its rate limits see them.
#[derive(Clone, Default)]
pub(super) struct RateSharing {
    pub(super) processes: ProcessCount,
    /// The store for exact limits; `None` if this process is alone.
    pub(super) rates: Option<Arc<dyn SharedRates>>,
}

impl fmt::Debug for RateSharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateSharing").field("processes", &self.processes).finish_non_exhaustive()
    }
}
