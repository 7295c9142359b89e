//! Watching resources of a server: subscriptions that outlive sessions.

use std::sync::{Arc, Weak};
use std::time::Duration;

use rmcp::model::{
    ClientRequest, ErrorCode, ErrorData, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::session::{RequestError, Session};
use super::subscription::{PAUSE, listen_again};
use super::{ConnectionState, McpConnection, SharedState};

/// The time that a server may take to accept a subscription.
const SUBSCRIBE_TIMEOUT: Duration = Duration::from_secs(10);

impl McpConnection {
    /// Returns a receiver of the changes of a resource, of which the server announces some; `None` if it announces
    /// none. The subscription ends with the last receiver.
    pub(crate) async fn watch(&self, uri: &str) -> Result<Option<watch::Receiver<u64>>, RequestError> {
        let session = self.session().await.map_err(RequestError::NoServer)?;
        if !session.announces_resource_changes() {
            return Ok(None);
        }
        let watches = self.shared.events.watches();
        let _telling = watches.telling().await;
        if let Some(receiver) = watches.subscribe(uri) {
            return Ok(Some(receiver));
        }
        if watches.is_full() {
            return Err(refused("too many of its resources are watched"));
        }
        session.subscribe_resource(uri).await?;
        let (changes, receiver) = watch::channel(0);
        let keeper = keep(Arc::downgrade(&self.shared), session, uri.to_owned(), changes.clone());
        watches.insert(uri, changes, AbortOnDropHandle::new(tokio::spawn(keeper)));
        Ok(Some(receiver))
    }

    /// Returns the open session, if there is one.
    fn open_session(&self) -> Option<Arc<Session>> {
        match &*self.shared.state.lock() {
            ConnectionState::Open { session, .. } if session.is_open() => Some(Arc::clone(session)),
            _ => None,
        }
    }
}

/// Keeps a subscription until its last receiver is gone. A server that has exited is started again.
async fn keep(
    shared: Weak<SharedState>,
    mut session: Arc<Session>,
    uri: String,
    changes: watch::Sender<u64>,
) {
    let connection = || Some(McpConnection { shared: shared.upgrade()? });
    loop {
        tokio::select! {
            () = changes.closed() => {
                let Some(connection) = connection() else { return };
                let watches = connection.shared.events.watches();
                let _telling = watches.telling().await;
                if watches.is_unwatched(&uri) {
                    if let Some(session) = connection.open_session() {
                        session.unsubscribe_resource(&uri);
                    }
                    return watches.remove(&uri);
                }
            }
            () = session.ended() => {
                tokio::time::sleep(PAUSE).await;
                let Some(connection) = connection() else { return };
                // A new session subscribes again. A server that does not start is tried again after the pause.
                if let Ok(next) = connection.session().await {
                    session = next;
                }
            }
        }
    }
}

/// Subscribes to the watched resources in a new session. They may have changed between the sessions.
pub(super) fn subscribe_again(shared: &Arc<SharedState>, session: &Arc<Session>) {
    let uris = shared.events.watches().uris();
    if uris.is_empty() || !session.announces_resource_changes() {
        return;
    }
    let (events, session) = (Arc::clone(&shared.events), Arc::clone(session));
    tokio::spawn(async move {
        for uri in uris {
            if let Err(error) = session.subscribe_resource(&uri).await {
                tracing::warn!(uri, reason = error.reason(), "MCP server does not take a subscription again");
            }
            events.watches().note_change(&uri);
        }
    });
}

impl Session {
    /// Returns true if the server announces changes of single resources.
    fn announces_resource_changes(&self) -> bool {
        let resources = self.server().and_then(|server| server.capabilities.resources.clone());
        resources.is_some_and(|resources| resources.subscribe == Some(true))
    }

    /// Subscribes to a resource.
    async fn subscribe_resource(self: &Arc<Self>, uri: &str) -> Result<(), RequestError> {
        let subscribed = async {
            if self.has_no_handshake() {
                let filter = SubscriptionFilter::builder().resource_subscription(uri).build();
                let stream = self.listen(filter.clone()).await?;
                if stream.acknowledged() != &filter {
                    return Err(refused("it does not announce changes of this resource"));
                }
                let events = Arc::clone(self.events());
                let (peer, uri) = (self.peer().clone(), uri.to_owned());
                let gap = {
                    let (events, uri) = (Arc::clone(&events), uri.clone());
                    move || events.watches().note_change(&uri)
                };
                self.add_stream(uri, listen_again(peer, filter, events, Some(stream), gap));
                return Ok(());
            }
            #[expect(deprecated, reason = "servers of older revisions know no other request")]
            let request = rmcp::model::SubscribeRequest::new(SubscribeRequestParams::new(uri));
            self.request(ClientRequest::SubscribeRequest(request), None).await.map(drop)
        };
        timeout(SUBSCRIBE_TIMEOUT, subscribed)
            .await
            .unwrap_or_else(|_| Err(refused("it did not answer in time")))
    }

    /// Ends the subscription to a resource.
    fn unsubscribe_resource(self: &Arc<Self>, uri: &str) {
        if self.has_no_handshake() {
            return self.remove_stream(uri);
        }
        #[expect(deprecated, reason = "servers of older revisions know no other request")]
        let request = rmcp::model::UnsubscribeRequest::new(UnsubscribeRequestParams::new(uri));
        self.send_in_background(ClientRequest::UnsubscribeRequest(request));
    }
}

fn refused(reason: &'static str) -> RequestError {
    RequestError::Rpc(ErrorData::new(ErrorCode::INVALID_REQUEST, reason, None))
}
