//! The sender of the records in a spool to where they are kept.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{SpoolReader, SpooledRecord};

/// The interval of checks for new records, and of attempts to reach the destination.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The time for the last records to be sent at the end. Later ones stay in the spool.
const CLOSE_TIME: Duration = Duration::from_secs(5);

/// The destination of the records in a spool.
#[async_trait]
pub trait SpoolDestination: Send + 'static {
    /// Appends records, except those that are there already. They are persisted when this returns.
    ///
    /// # Errors
    ///
    /// Returns a message for the log if not all were appended. The same records are sent again then.
    async fn append(&mut self, records: Vec<SpooledRecord>) -> Result<(), String>;

    /// Closes the destination.
    async fn close(&mut self);
}

/// Sends the records in a spool until it is closed or dropped. Of several processes with one spool, one sends.
pub struct SpoolSender {
    closing: CancellationToken,
    task: TaskTracker,
}

impl SpoolSender {
    /// Starts sending.
    pub fn start(spool: PathBuf, destination: impl SpoolDestination) -> Self {
        let sender = Self { closing: CancellationToken::new(), task: TaskTracker::new() };
        let link = Link { spool, reader: None, destination };
        sender.task.spawn(link.send_until(sender.closing.clone()));
        sender
    }

    /// Sends the last records, and closes the destination.
    pub async fn close(&self) {
        self.closing.cancel();
        self.task.close();
        self.task.wait().await;
    }
}

impl Drop for SpoolSender {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

/// The two ends between which records are sent.
struct Link<D> {
    spool: PathBuf,
    /// Opened when no other process sends.
    reader: Option<SpoolReader>,
    destination: D,
}

impl<D: SpoolDestination> Link<D> {
    /// Sends the records in the spool, unless another process does.
    async fn send(&mut self) -> Result<(), String> {
        let unreadable = |error: io::Error| format!("{} cannot be read: {error}", self.spool.display());
        if self.reader.is_none() {
            self.reader = SpoolReader::open(&self.spool).map_err(unreadable)?;
        }
        let Some(reader) = &mut self.reader else { return Ok(()) };
        loop {
            let batch = reader.next_batch().map_err(unreadable)?;
            if batch.is_empty() {
                return Ok(());
            }
            self.destination.append(batch).await?;
            reader.finish_batch().map_err(unreadable)?;
        }
    }

    /// Sends records until the end, and then the last ones.
    async fn send_until(mut self, closing: CancellationToken) {
        let mut is_failing = false;
        let sending = async {
            loop {
                match self.send().await {
                    Err(error) if !is_failing => {
                        tracing::error!(%error, "audit records are not sent to the store, and wait in the spool");
                        is_failing = true;
                    }
                    Ok(()) if is_failing => {
                        tracing::warn!("audit records are sent to the store again");
                        is_failing = false;
                    }
                    _ => {}
                }
                sleep(POLL_INTERVAL).await;
            }
        };
        closing.run_until_cancelled(sending).await;
        match timeout(CLOSE_TIME, self.send()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "the last audit records stay in the spool"),
            Err(_late) => {
                tracing::error!("the store does not answer; the last audit records stay in the spool");
            }
        }
        self.destination.close().await;
    }
}
