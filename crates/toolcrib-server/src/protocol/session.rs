//! The session of a client before revision 2026-07-28, and of any client on standard input and output.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use crate::client::Client;
use crate::server::Shared;

/// The session of one connection, or of one HTTP session. When it ends, its stored results and background work end too.
pub(crate) struct Session {
    shared: Arc<Shared>,
    /// The name, created at the first request.
    id: OnceLock<Arc<str>>,
    ended: CancellationToken,
}

impl Session {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, id: OnceLock::new(), ended: CancellationToken::new() }
    }

    /// Returns the name of the session. Without random numbers this is the session of the client's requests without
    /// one.
    pub(crate) fn id(&self, client: &Client) -> Arc<str> {
        let id = self.id.get_or_init(|| client.new_session().unwrap_or_else(|_| Arc::clone(&client.session)));
        Arc::clone(id)
    }

    /// Returns a token that is cancelled when the session ends.
    pub(crate) fn ended(&self) -> CancellationToken {
        self.ended.clone()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.ended.cancel();
        let Some(id) = self.id.get().cloned() else { return };
        let shared = Arc::clone(&self.shared);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { shared.runtime().end_session(&id).await });
        }
    }
}
