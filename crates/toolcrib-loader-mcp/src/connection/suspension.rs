//! The suspension of a source that no caller may use: no process runs for it, and no connection is open.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use futures::future::join_all;
use parking_lot::Mutex;

use super::{ConnectionState, McpConnection, SharedState};

/// The suspension of a source, which its connections share.
#[derive(Default)]
pub(super) struct Suspension {
    is_suspended: AtomicBool,
    /// The connections, with some that have been dropped since.
    connections: Mutex<Vec<Weak<SharedState>>>,
}

impl Suspension {
    /// Adds a connection of the source.
    pub(super) fn add(&self, connection: &Arc<SharedState>) {
        let mut connections = self.connections.lock();
        connections.retain(|connection| connection.strong_count() > 0);
        connections.push(Arc::downgrade(connection));
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.is_suspended.load(Ordering::SeqCst)
    }
}

impl McpConnection {
    /// Closes all connections of the source, and opens none until [`resume`](Self::resume). Calls under way end.
    pub(crate) async fn suspend(&self) {
        let suspension = &self.shared.suspension;
        suspension.is_suspended.store(true, Ordering::SeqCst);
        let connections: Vec<_> = suspension.connections.lock().iter().filter_map(Weak::upgrade).collect();
        join_all(connections.iter().map(|connection| connection.end_session())).await;
    }

    /// Lets connections be opened again.
    pub(crate) fn resume(&self) {
        self.shared.suspension.is_suspended.store(false, Ordering::SeqCst);
    }

    /// Returns true if no connection of the source is opened.
    pub(crate) fn is_suspended(&self) -> bool {
        self.shared.suspension.is_suspended()
    }
}

impl SharedState {
    /// Closes the open session, or the one that is being opened.
    async fn end_session(&self) {
        let before = {
            let mut state = self.state.lock();
            match &*state {
                ConnectionState::Closed => return,
                // The attempt stores its outcome itself.
                ConnectionState::Connecting { outcome, stop } => Err((outcome.clone(), stop.clone())),
                ConnectionState::Idle { .. } | ConnectionState::Open { .. } => {
                    Ok(std::mem::replace(&mut *state, ConnectionState::Idle { failed: None }))
                }
            }
        };
        match before {
            Ok(ConnectionState::Open { session, .. }) => session.close().await,
            Ok(_) => {}
            Err((outcome, stop)) => {
                stop.cancel();
                // An attempt that succeeds nonetheless closes its session.
                let _ = outcome.await;
            }
        }
    }
}
