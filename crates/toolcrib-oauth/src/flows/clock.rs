//! The time of tokens and signatures.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the seconds since 1970; 0 if the clock is before that.
pub(super) fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
