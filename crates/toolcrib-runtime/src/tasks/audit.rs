//! The sender of audit records to the store.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolcrib_app::App;
use toolcrib_exec::audit::{SpoolReader, SpooledRecord};
use toolcrib_tasks::StoreLocation;
use toolcrib_tasks::store::{AuditRow, AuditTable};

use crate::Error;

/// The interval of checks for new records, and of attempts to reach the store.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The time for the last records to be sent when the app ends. Later ones stay in the spool.
const CLOSE_TIME: Duration = Duration::from_secs(5);

/// Sends audit records to the store while the app runs. Of several processes with one spool, one sends.
pub(crate) struct AuditSender {
    closing: CancellationToken,
    task: TaskTracker,
}

impl AuditSender {
    /// Starts sending the audit records of an app that has them in its store.
    pub(crate) fn start(app: &App) -> Result<Self, Error> {
        let sender = Self { closing: CancellationToken::new(), task: TaskTracker::new() };
        if let (Some(spool), Some(location)) = (app.audit_spool(), app.store_location()?) {
            let link = StoreLink { spool, location, reader: None, table: None };
            sender.task.spawn(send_until(link, sender.closing.clone()));
        }
        Ok(sender)
    }

    /// Sends the last records.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.task.close();
        self.task.wait().await;
    }
}

impl Drop for AuditSender {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

/// The two ends between which records are sent, each opened when it is needed.
struct StoreLink {
    spool: PathBuf,
    location: StoreLocation,
    reader: Option<SpoolReader>,
    table: Option<AuditTable>,
}

impl StoreLink {
    /// Sends the records in the spool, unless another process does.
    async fn send(&mut self) -> Result<(), String> {
        let unreadable = |error: std::io::Error| format!("{} cannot be read: {error}", self.spool.display());
        if self.reader.is_none() {
            self.reader = SpoolReader::open(&self.spool).map_err(unreadable)?;
        }
        let Some(reader) = &mut self.reader else { return Ok(()) };
        loop {
            let batch = reader.next_batch().map_err(unreadable)?;
            if batch.is_empty() {
                return Ok(());
            }
            let table = if let Some(table) = &self.table {
                table
            } else {
                let opened = AuditTable::open(&self.location).await;
                self.table.insert(opened.map_err(|error| error.to_string())?)
            };
            let rows: Vec<_> = batch.into_iter().map(row).collect();
            table.append(&rows).await.map_err(|error| error.to_string())?;
            reader.finish_batch().map_err(unreadable)?;
        }
    }
}

/// Sends records until the app ends, and then the last ones.
async fn send_until(mut link: StoreLink, closing: CancellationToken) {
    let mut is_failing = false;
    let sending = async {
        loop {
            match link.send().await {
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
    match timeout(CLOSE_TIME, link.send()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!(%error, "the last audit records stay in the spool"),
        Err(_late) => tracing::error!("the store does not answer; the last audit records stay in the spool"),
    }
    if let Some(table) = link.table {
        table.close().await;
    }
}

fn row(SpooledRecord { id, time, json }: SpooledRecord) -> AuditRow {
    AuditRow { id, time, record: json }
}
