//! Hearing of changes from servers of revision 2026-07-28; those before tell everybody.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::SubscriptionFilter;
use rmcp::service::Peer;
use rmcp::{RoleClient, ServiceError};
use tokio_util::task::AbortOnDropHandle;

use crate::handler::Events;

/// How long to leave a server alone that ended a subscription, before another one is asked for.
const PAUSE: Duration = Duration::from_secs(5);

/// Asks a server to tell when its lists change, as long as the conversation goes on; `None` where it does not do so.
pub(crate) fn keep(peer: &Peer<RoleClient>, events: &Arc<Events>) -> Option<AbortOnDropHandle<()>> {
    let server = peer.peer_info()?;
    if server.protocol_version.has_initialize() {
        return None;
    }
    let tells = |told: Option<bool>| told.filter(|told| *told);
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
    Some(AbortOnDropHandle::new(tokio::spawn(async move {
        while !peer.is_transport_closed() {
            match peer.listen(filter.clone()).await {
                Ok(mut subscription) => {
                    while let Ok(Some(notification)) = subscription.next().await {
                        events.note_change(&notification);
                    }
                    // What changes between two subscriptions is told by neither.
                    events.note_changes();
                }
                Err(ServiceError::McpError(error)) => {
                    tracing::debug!(error = %error.message, "MCP server takes no subscription");
                    return;
                }
                Err(_) => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
    })))
}
