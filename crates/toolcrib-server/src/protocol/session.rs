//! The session of a client before revision 2026-07-28, and of any client on standard input and output.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{ErrorData, ResourceUpdatedNotificationParam};
use rmcp::service::Peer;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::client::Client;
use crate::resources::{MAX_SUBSCRIBED, ResourceUpdates, invalid};
use crate::server::Shared;

/// The session of one connection, or of one HTTP session. When it ends, its stored results and background work end too.
pub(crate) struct Session {
    shared: Arc<Shared>,
    /// The name, created at the first request.
    id: OnceLock<Arc<str>>,
    ended: CancellationToken,
    /// The tasks that announce updates of resources, by the URIs that the client subscribed to.
    subscriptions: Mutex<HashMap<String, AbortOnDropHandle<()>>>,
}

impl Session {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, id: OnceLock::new(), ended: CancellationToken::new(), subscriptions: Mutex::default() }
    }

    /// Returns the name of the session. Without random numbers this is the session of the client's requests without
    /// one.
    pub(crate) fn id(&self, client: &Client) -> Arc<str> {
        let id = self.id.get_or_init(|| client.new_session().unwrap_or_else(|_| Arc::clone(&client.session)));
        Arc::clone(id)
    }

    /// Announces the updates of a resource to the client from now on.
    pub(crate) fn subscribe(
        &self,
        uri: String,
        mut updates: ResourceUpdates,
        peer: Peer<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mut subscriptions = self.subscriptions.lock();
        if subscriptions.len() >= MAX_SUBSCRIBED && !subscriptions.contains_key(&uri) {
            let message =
                format!("there are {MAX_SUBSCRIBED} subscriptions in this session, which is the limit");
            return Err(invalid(&message));
        }
        let told = uri.clone();
        let task = tokio::spawn(async move {
            while updates.next().await.is_some() {
                let update = ResourceUpdatedNotificationParam::new(told.as_str());
                if peer.notify_resource_updated(update).await.is_err() {
                    return;
                }
            }
        });
        subscriptions.insert(uri, AbortOnDropHandle::new(task));
        Ok(())
    }

    /// Ends the announcements for a resource.
    pub(crate) fn unsubscribe(&self, uri: &str) {
        let removed = self.subscriptions.lock().remove(uri);
        drop(removed);
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
