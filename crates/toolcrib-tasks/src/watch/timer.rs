//! The Tokio task that waits for all watchers.

use std::sync::{Arc, Weak};

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::WatchersInner;
use crate::services::LEASE_TIME;

/// Starts the turns of watchers that are due, until intake stops or all handles are dropped.
pub(super) async fn run(inner: Weak<WatchersInner>, wake: Arc<Notify>, closing: CancellationToken) {
    let mut looked = Instant::now();
    loop {
        let next = {
            let Some(inner) = inner.upgrade() else { return };
            let (turns, next) = inner.table.take_due(Instant::now());
            for (id, cancel) in turns {
                inner.start_turn(id, cancel);
            }
            // Other processes may have ended, so this process takes over their watchers.
            let look = inner.services.is_shared().then(|| looked + LEASE_TIME);
            if look.is_some_and(|look| look <= Instant::now()) {
                looked = Instant::now();
                inner.reload_all().await;
                continue;
            }
            next.into_iter().chain(look).min()
        };
        let sleep = async {
            match next {
                Some(next) => tokio::time::sleep_until(next).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = closing.cancelled() => return,
            () = wake.notified() => {}
            () = sleep => {}
        }
    }
}
