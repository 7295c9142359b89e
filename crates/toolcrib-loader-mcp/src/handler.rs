//! Our side of the conversation: who we are, what servers may ask of us, and what they tell us.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientResult, ConstString as _, CustomRequest, ElicitationCapability,
    ElicitationCreateRequestMethod, ErrorCode, ErrorData, FormElicitationCapability, Implementation,
    JsonObject, ProgressNotificationParam, ProgressToken, ProtocolVersion, ServerNotification, ServerRequest,
    TASKS_EXTENSION_ID, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleClient, Service};
use tokio::sync::Notify;
use toolcrib_port::{Progress, ProgressListener};

use crate::elicitation::Desk;
use crate::text::{MAX_PROGRESS_CHARS, clean};

/// What servers tell without being asked.
#[derive(Default)]
pub(crate) struct Events {
    listeners: Mutex<HashMap<ProgressToken, Arc<dyn ProgressListener>>>,
    /// Something that a server lists is no longer what it was.
    changed: Notify,
    /// How often that was so.
    changes: AtomicU64,
    /// Where its questions to the user are put.
    desk: Desk,
}

impl Events {
    pub(crate) fn desk(&self) -> &Desk {
        &self.desk
    }

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

/// A client that answers pings, and questions to the user where there is one: sampling and roots are not among its
/// capabilities.
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
        context: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        let error = |code, message: &'static str| Err(ErrorData::new(code, message, None));
        let desk = self.events.desk();
        match request {
            ServerRequest::PingRequest(_) => Ok(ClientResult::empty(())),
            ServerRequest::ElicitRequest(request) if desk.is_attended() => tokio::select! {
                biased;
                () = context.ct.cancelled() => error(ErrorCode::INVALID_REQUEST, "the question was taken back"),
                result = desk.asked(&request.params) => result.map(ClientResult::ElicitResult),
            },
            // rmcp could not read it.
            ServerRequest::CustomRequest(CustomRequest { method, .. })
                if method == ElicitationCreateRequestMethod::VALUE && desk.is_attended() =>
            {
                error(ErrorCode::INVALID_PARAMS, "the question is none of the forms that the protocol has")
            }
            _ => error(ErrorCode::METHOD_NOT_FOUND, "this client offers nothing of the kind"),
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
        capabilities.elicitation = self.events.desk().is_attended().then(|| {
            ElicitationCapability::new()
                .with_form(FormElicitationCapability::new())
                .with_url(UrlElicitationCapability::new())
        });
        // The newest revision that has the `initialize` handshake: what rmcp would name by itself is one without.
        ClientConfig::new(capabilities, Implementation::new("toolcrib", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}
