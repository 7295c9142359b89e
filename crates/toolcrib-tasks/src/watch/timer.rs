//! The one task that knows when each watcher is due.

use std::sync::{Arc, Weak};

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Inner;
use crate::services::LEASE_TIME;

/// Gives watchers their turns until nothing more is started, or nobody is left who knows them.
pub(super) async fn run(inner: Weak<Inner>, wake: Arc<Notify>, closing: CancellationToken) {
    let mut looked = Instant::now();
    loop {
        let next = {
            let Some(inner) = inner.upgrade() else { return };
            let (turns, next) = inner.table.take_due(Instant::now());
            for (id, cancel) in turns {
                inner.start_turn(id, cancel);
            }
            // What others have started, they may no longer be there to go on with.
            let look = inner.services.is_shared().then(|| looked + LEASE_TIME);
            if look.is_some_and(|look| look <= Instant::now()) {
                looked = Instant::now();
                inner.adopt().await;
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
