//! Polling for conditions without events.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

/// The polling interval.
const INTERVAL: Duration = Duration::from_millis(10);

/// Polls until there is a value, and fails after `patience`. For the end of a process or the opening of a port, which
/// send no event; if there is an event, wait for that.
pub async fn wait_until<T>(
    what: &str,
    patience: Duration,
    mut look: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if Instant::now() >= deadline {
            bail!("waited {} s in vain: {what}", patience.as_secs_f32());
        }
        sleep(INTERVAL).await;
    }
}
