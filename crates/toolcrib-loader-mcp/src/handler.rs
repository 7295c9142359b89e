//! Our side of the conversation: who we are, what servers may ask of us, and what they tell us.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientResult, ErrorCode, ErrorData, Implementation, JsonObject,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, ServerNotification, ServerRequest,
    TASKS_EXTENSION_ID,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleClient, Service};
use tokio::sync::Notify;
use toolcrib_port::{Progress, ProgressListener};

use crate::text::{MAX_PROGRESS_CHARS, clean};

/// What servers tell without being asked.
#[derive(Default)]
pub(crate) struct Events {
    listeners: Mutex<HashMap<ProgressToken, Arc<dyn ProgressListener>>>,
    /// Something that a server lists is no longer what it was.
    changed: Notify,
    /// How often that was so.
    changes: AtomicU64,
}

impl Events {
    /// Passes on what the server says of this request, until [`forget`](Self::forget).
    pub(crate) fn listen(&self, token: ProgressToken, listener: Arc<dyn ProgressListener>) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).insert(token, listener);
    }

    pub(crate) fn forget(&self, token: &ProgressToken) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).remove(token);
    }

    /// Notes that what was listed is out of date.
    pub(crate) fn note_change(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_one();
    }

    /// Asks for a load, although the server has told of no change.
    pub(crate) fn ask_for_load(&self) {
        self.changed.notify_one();
    }

    /// How many changes were noted.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Comes back when a change was noted since the last time.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// How many requests are listened to.
    #[cfg(test)]
    pub(crate) fn listeners(&self) -> usize {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn progress(&self, told: ProgressNotificationParam) {
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(listener) = listeners.get(&told.progress_token).cloned() else { return };
        drop(listeners);
        let message = told.message.map(|message| clean(&message, MAX_PROGRESS_CHARS));
        listener.progress(&Progress { done: told.progress, total: told.total, message });
    }
}

/// A client that answers pings and nothing else: sampling, roots and elicitation are not among its capabilities.
pub(crate) struct Client {
    events: Arc<Events>,
}

impl Client {
    pub(crate) fn new(events: Arc<Events>) -> Self {
        Self { events }
    }
}

impl Service<RoleClient> for Client {
    async fn handle_request(
        &self,
        request: ServerRequest,
        _context: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        match request {
            ServerRequest::PingRequest(_) => Ok(ClientResult::empty(())),
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "this client answers `ping` only", None)),
        }
    }

    async fn handle_notification(
        &self,
        notification: ServerNotification,
        _context: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        match notification {
            ServerNotification::ProgressNotification(told) => self.events.progress(told.params),
            ServerNotification::ToolListChangedNotification(_)
            | ServerNotification::PromptListChangedNotification(_)
            | ServerNotification::ResourceListChangedNotification(_) => self.events.note_change(),
            _ => {}
        }
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.extensions = Some([(TASKS_EXTENSION_ID.to_owned(), JsonObject::new())].into());
        // The newest revision that has the `initialize` handshake: what rmcp would name by itself is one without.
        ClientConfig::new(capabilities, Implementation::new("toolcrib", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}
