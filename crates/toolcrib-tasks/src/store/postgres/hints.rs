//! Hints by `NOTIFY` that other processes have changed records.
//!
//! They come over a separate connection, which is opened for the first reader and again when it breaks. Readers poll as
//! well, so that a lost hint costs time only: behind a pool of connections per transaction, such as that of `PgBouncer`,
//! none ever comes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::sleep;
use toolcrib_io::table::Hints;

use super::CONNECT_TIMEOUT;
use crate::store::RecordKind;

/// The channel of the hints. Their payload is the kind of the records.
pub(super) const CHANNEL: &str = "toolcrib_hints";

/// The time between two attempts to listen.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// The senders of the hints to the readers of a kind.
type Senders = Arc<Mutex<HashMap<&'static str, watch::Sender<()>>>>;

/// The connection that listens to hints.
#[derive(Default)]
pub(super) struct HintListener {
    senders: Senders,
    listening: Mutex<Option<AbortHandle>>,
}

impl HintListener {
    /// Returns the hints about a kind of records. Listens from now on.
    pub(super) fn hints(&self, kind: RecordKind, options: &PgConnectOptions) -> Hints {
        let hints = Hints::of(self.senders.lock().entry(kind.as_str()).or_default());
        let mut listening = self.listening.lock();
        if listening.is_none()
            && let Ok(runtime) = Handle::try_current()
        {
            let listener = listen(options.clone(), Arc::clone(&self.senders));
            *listening = Some(runtime.spawn(listener).abort_handle());
        }
        hints
    }

    /// Stops listening.
    pub(super) fn end(&self) {
        if let Some(listening) = self.listening.lock().take() {
            listening.abort();
        }
    }
}

impl Drop for HintListener {
    fn drop(&mut self) {
        self.end();
    }
}

async fn listen(options: PgConnectOptions, senders: Senders) {
    loop {
        if let Err(error) = listen_once(options.clone(), &senders).await {
            tracing::debug!(%error, "no hints come from the store, which is polled");
        }
        sleep(RETRY_INTERVAL).await;
    }
}

/// Listens until the connection breaks.
async fn listen_once(options: PgConnectOptions, senders: &Senders) -> sqlx::Result<()> {
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(CONNECT_TIMEOUT)
        .max_lifetime(None)
        .idle_timeout(None)
        .connect_with(options)
        .await?;
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    // Hints may have been missed before.
    for sender in senders.lock().values() {
        sender.send_replace(());
    }
    while let Some(hint) = listener.try_recv().await? {
        if let Some(sender) = senders.lock().get(hint.payload()) {
            sender.send_replace(());
        }
    }
    Ok(())
}
