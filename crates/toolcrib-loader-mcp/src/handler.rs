//! Our side of the conversation: who we are, what servers may ask of us, and what they tell us.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// The number of changes that a server has reported, for each of its lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) tools: u64,
    pub(crate) prompts: u64,
    pub(crate) resources: u64,
}

impl Changes {
    /// Counts a notification that a list has changed; returns whether it is one.
    fn count(&mut self, notification: &ServerNotification) -> bool {
        let list = match notification {
            ServerNotification::ToolListChangedNotification(_) => &mut self.tools,
            ServerNotification::PromptListChangedNotification(_) => &mut self.prompts,
            ServerNotification::ResourceListChangedNotification(_) => &mut self.resources,
            _ => return false,
        };
        *list += 1;
        true
    }
}

/// The most requests of which progress is kept before anybody listens: it takes a moment from sending one to listening.
const MAX_EARLY_REQUESTS: usize = 64;

/// The most steps that are kept of each.
const MAX_EARLY_STEPS: usize = 16;

/// The listeners to the progress of requests.
#[derive(Default)]
struct Listeners {
    by_token: HashMap<ProgressToken, Arc<dyn ProgressListener>>,
    /// The requests that were sent and are not listened to yet, and what was told of each.
    early: VecDeque<(ProgressToken, Vec<ProgressNotificationParam>)>,
}

/// What servers tell without being asked.
#[derive(Default)]
pub(crate) struct Events {
    listeners: Mutex<Listeners>,
    /// Something that a server lists is no longer what it was.
    changed: Notify,
    /// The number of changes, for each list.
    changes: Mutex<Changes>,
    /// Where its questions to the user are put.
    desk: Desk,
}

impl Events {
    pub(crate) fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Passes on what the server says of this request, until [`forget`](Self::forget).
    pub(crate) fn listen(&self, token: ProgressToken, listener: Arc<dyn ProgressListener>) {
        let mut listeners = self.lock();
        for told in listeners.take_early(&token) {
            tell(&listener, told);
        }
        listeners.by_token.insert(token, listener);
    }

    pub(crate) fn forget(&self, token: &ProgressToken) {
        let mut listeners = self.lock();
        listeners.by_token.remove(token);
        listeners.take_early(token);
    }

    /// Notes that a request is sent. Its token is known to its sender only afterwards, and what the server tells meanwhile is
    /// kept.
    pub(crate) fn expect(&self, token: ProgressToken) {
        let mut listeners = self.lock();
        if listeners.by_token.contains_key(&token) {
            return;
        }
        listeners.take_early(&token);
        if listeners.early.len() >= MAX_EARLY_REQUESTS {
            listeners.early.pop_front();
        }
        listeners.early.push_back((token, Vec::new()));
    }

    fn lock(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a list is out of date, where a notification says so.
    pub(crate) fn note_change(&self, notification: &ServerNotification) {
        if self.changes.lock().unwrap_or_else(PoisonError::into_inner).count(notification) {
            self.changed.notify_one();
        }
    }

    /// Notes that any list may be out of date.
    pub(crate) fn note_changes(&self) {
        {
            let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
            changes.tools += 1;
            changes.prompts += 1;
            changes.resources += 1;
        }
        self.changed.notify_one();
    }

    /// Asks for a load, although the server has told of no change.
    pub(crate) fn ask_for_load(&self) {
        self.changed.notify_one();
    }

    /// Returns how many changes of each list were noted.
    pub(crate) fn changes(&self) -> Changes {
        *self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Comes back when a change was noted since the last time.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// How many requests are listened to.
    #[cfg(test)]
    pub(crate) fn listeners(&self) -> usize {
        self.lock().by_token.len()
    }

    /// Passes the progress of a request on to its listener.
    pub(crate) fn progress(&self, told: ProgressNotificationParam) {
        let mut listeners = self.lock();
        if let Some(listener) = listeners.by_token.get(&told.progress_token).cloned() {
            drop(listeners);
            return tell(&listener, told);
        }
        let early = listeners.early.iter_mut().find(|(token, _)| *token == told.progress_token);
        if let Some((_, steps)) = early
            && steps.len() < MAX_EARLY_STEPS
        {
            steps.push(told);
        }
    }
}

impl Listeners {
    /// Takes what was told of a request before anybody listened.
    fn take_early(&mut self, token: &ProgressToken) -> Vec<ProgressNotificationParam> {
        let place = self.early.iter().position(|(early, _)| early == token);
        place.and_then(|place| self.early.remove(place)).map(|(_, steps)| steps).unwrap_or_default()
    }
}

fn tell(listener: &Arc<dyn ProgressListener>, told: ProgressNotificationParam) {
    let message = told.message.map(|message| clean(&message, MAX_PROGRESS_CHARS));
    listener.progress(&Progress { done: told.progress, total: told.total, message });
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
        // Progress is passed on by the transport, in its order.
        self.events.note_change(&notification);
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
