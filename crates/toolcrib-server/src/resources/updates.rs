//! Updates of single resources, for the clients that subscribe to them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::ErrorData;
use rmcp::service::RequestContext;
use serde_json::json;
use tokio::sync::watch;
use toolcrib_model::ToolCall;
use toolcrib_port::CallContext;

use super::server_uri::ServerUri;
use super::upstream::{about, failure, invalid, not_found, object, tool_for};
use crate::calls::execution::Caller;
use crate::server::Shared;

/// The maximum number of resources that a client may subscribe to in one session or subscription.
pub(crate) const MAX_SUBSCRIBED: usize = 100;

/// The time after which a resource is watched again whose server was closed: by a reload of the app, or in favour of
/// another one.
const PAUSE: Duration = Duration::from_secs(1);

/// The updates of a resource.
pub(crate) struct ResourceUpdates {
    shared: Weak<Shared>,
    /// The call that reads the resource.
    call: ToolCall,
    context: CallContext,
    changes: watch::Receiver<u64>,
}

impl Shared {
    /// Subscribes to a resource that the client may read without approval.
    pub(crate) async fn resource_updates(
        self: &Arc<Self>,
        uri: &str,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Result<ResourceUpdates, ErrorData> {
        let calls = caller.context();
        let subscribed = async {
            let ServerUri { namespace, own } = self.server_uri(uri, caller, context).await?;
            let runtime = &caller.lease.runtime;
            let name =
                tool_for("resources/read", namespace.as_deref(), runtime, &calls).ok_or_else(|| {
                    not_found(format!("there is no resource {uri:?}; see `resources/list`"), context)
                })?;
            let call = ToolCall::new(name, object(json!({"uri": own})));
            let changes = runtime.executor().watch(call.clone(), &calls).await;
            let changes = changes.map_err(|error| failure(&error, context))?;
            let none = || invalid("the server of the resource does not announce its changes");
            Ok((call, changes.ok_or_else(none)?))
        };
        let (call, changes) = subscribed.await.map_err(|error| about(error, uri))?;
        Ok(ResourceUpdates { shared: Arc::downgrade(self), call, context: calls, changes })
    }
}

impl ResourceUpdates {
    /// Waits for an update. Returns `None` once there are no further ones for the client.
    pub(crate) async fn next(&mut self) -> Option<()> {
        if self.changes.changed().await.is_ok() {
            let lease = self.shared.upgrade()?.lease();
            // The rules may have changed.
            lease.runtime.executor().may_run(&self.call, &self.context).then_some(())
        } else {
            tokio::time::sleep(PAUSE).await;
            let lease = self.shared.upgrade()?.lease();
            let changes = lease.runtime.executor().watch(self.call.clone(), &self.context).await;
            self.changes = changes.ok()??;
            Some(())
        }
    }
}
