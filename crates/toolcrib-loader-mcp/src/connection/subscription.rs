//! Subscriptions for servers of revision 2026-07-28. Older servers announce list changes to all clients.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::SubscriptionFilter;
use rmcp::service::{Peer, Subscription};
use rmcp::{RoleClient, ServiceError};
use tokio_util::task::AbortOnDropHandle;

use crate::connection::client_handler::ServerEvents;

/// The wait between the end of a subscription and the next one.
pub(crate) const PAUSE: Duration = Duration::from_secs(5);

/// Subscribes to list changes for the duration of the session; `None` if the server does not announce any.
pub(crate) fn subscribe(
    peer: &Peer<RoleClient>,
    events: &Arc<ServerEvents>,
) -> Option<AbortOnDropHandle<()>> {
    let server = peer.peer_info()?;
    if server.protocol_version.has_initialize() {
        return None;
    }
    let tells = |message: Option<bool>| message.filter(|message| *message);
    let capabilities = &server.capabilities;
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = tells(capabilities.tools.as_ref().and_then(|tools| tools.list_changed));
    filter.prompts_list_changed =
        tells(capabilities.prompts.as_ref().and_then(|prompts| prompts.list_changed));
    filter.resources_list_changed =
        tells(capabilities.resources.as_ref().and_then(|resources| resources.list_changed));
    if filter == SubscriptionFilter::new() {
        return None;
    }
    let (peer, events) = (peer.clone(), Arc::clone(events));
    let gap = {
        let events = Arc::clone(&events);
        move || events.note_changes()
    };
    Some(listen_again(peer, filter, events, None, gap))
}

/// Receives the notifications of a subscription, and of another one each time that one ends. Neither reports a change
/// between them; `gap` counts it.
pub(crate) fn listen_again(
    peer: Peer<RoleClient>,
    filter: SubscriptionFilter,
    events: Arc<ServerEvents>,
    mut first: Option<Subscription>,
    gap: impl Fn() + Send + 'static,
) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        while !peer.is_transport_closed() {
            let subscription = match first.take() {
                Some(subscription) => Ok(subscription),
                None => peer.listen(filter.clone()).await,
            };
            match subscription {
                Ok(mut subscription) => {
                    while let Ok(Some(notification)) = subscription.next().await {
                        events.note_change(&notification);
                    }
                    gap();
                }
                Err(ServiceError::McpError(error)) => {
                    tracing::debug!(error = %error.message, "MCP server takes no subscription");
                    return;
                }
                Err(_) => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
    }))
}
