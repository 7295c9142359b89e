//! Waiting for what nobody announces.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

/// How often it looks.
const INTERVAL: Duration = Duration::from_millis(10);

/// Looks again and again until there is something, and fails when `patience` is over before. For the end of a process
/// or the opening of a port, which send no event; where there is an event, wait for that.
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
