//! The client side of a session: its capabilities, its answers to requests of the server, and its notifications.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientResult, ConstString as _, CustomRequest, ElicitationCapability,
    ElicitationCreateRequestMethod, ErrorCode, ErrorData, FormElicitationCapability, Implementation,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, ServerNotification, ServerRequest,
    UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleClient, Service};
use tokio::sync::Notify;
use toolcrib_port::{Progress, ProgressListener};

use crate::apps::extensions;
use crate::connection::resource_watches::ResourceWatches;
use crate::elicitation::ElicitationBroker;
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

/// The largest number of requests whose progress is buffered before their listener is registered, which happens a
/// moment after sending.
const MAX_EARLY_REQUESTS: usize = 64;

/// The largest number of progress notifications buffered for each request.
const MAX_EARLY_STEPS: usize = 16;

/// The listeners for the progress of requests.
#[derive(Default)]
struct Listeners {
    by_token: HashMap<ProgressToken, Arc<dyn ProgressListener>>,
    /// The requests that were sent and have no listener yet, with their buffered progress.
    early: VecDeque<(ProgressToken, Vec<ProgressNotificationParam>)>,
}

/// The events that a server sends without a request.
pub(crate) struct ServerEvents {
    listeners: Mutex<Listeners>,
    /// Notified when a list of the server has changed.
    changed: Notify,
    /// True if the next load asks the server, even if a list is cached.
    has_outdated_list: AtomicBool,
    /// The number of changes of each list.
    changes: Mutex<Changes>,
    /// The watched resources.
    watches: ResourceWatches,
    /// Asks the user the server's questions.
    broker: ElicitationBroker,
}

impl ServerEvents {
    pub(crate) fn new(server: &str) -> Self {
        Self {
            listeners: Mutex::default(),
            changed: Notify::new(),
            has_outdated_list: AtomicBool::default(),
            changes: Mutex::default(),
            watches: ResourceWatches::default(),
            broker: ElicitationBroker::new(server),
        }
    }

    pub(crate) fn watches(&self) -> &ResourceWatches {
        &self.watches
    }

    pub(crate) fn broker(&self) -> &ElicitationBroker {
        &self.broker
    }

    /// Registers a listener for the progress of a request, until [`forget`](Self::forget).
    pub(crate) fn listen(&self, token: ProgressToken, listener: Arc<dyn ProgressListener>) {
        let mut listeners = self.listeners.lock();
        for update in listeners.take_early(&token) {
            deliver(&listener, update);
        }
        listeners.by_token.insert(token, listener);
    }

    /// Removes the listener and the buffered progress of a request.
    pub(crate) fn forget(&self, token: &ProgressToken) {
        let mut listeners = self.listeners.lock();
        listeners.by_token.remove(token);
        listeners.take_early(token);
    }

    /// Records that a request is sent. The sender learns its token only afterwards, so progress that arrives in between
    /// is buffered.
    pub(crate) fn expect(&self, token: ProgressToken) {
        let mut listeners = self.listeners.lock();
        if listeners.by_token.contains_key(&token) {
            return;
        }
        listeners.take_early(&token);
        if listeners.early.len() >= MAX_EARLY_REQUESTS {
            listeners.early.pop_front();
        }
        listeners.early.push_back((token, Vec::new()));
    }

    /// Counts a change, if the notification announces one.
    pub(crate) fn note_change(&self, notification: &ServerNotification) {
        if let ServerNotification::ResourceUpdatedNotification(updated) = notification {
            self.watches.note_change(&updated.params.uri);
        }
        if self.changes.lock().count(notification) {
            self.changed.notify_one();
        }
    }

    /// Counts a change of every list, since any of them may be outdated.
    pub(crate) fn note_changes(&self) {
        {
            let mut changes = self.changes.lock();
            changes.tools += 1;
            changes.prompts += 1;
            changes.resources += 1;
        }
        self.changed.notify_one();
    }

    /// Requests a load, although the server has announced no change.
    pub(crate) fn ask_for_load(&self) {
        self.changed.notify_one();
    }

    /// Requests a load from the server, since the cached list is outdated.
    pub(crate) fn ask_for_fresh_load(&self) {
        self.has_outdated_list.store(true, Ordering::Relaxed);
        self.ask_for_load();
    }

    /// Returns true once for each request for a load from the server.
    pub(crate) fn take_outdated_list(&self) -> bool {
        self.has_outdated_list.swap(false, Ordering::Relaxed)
    }

    /// Returns the number of changes of each list.
    pub(crate) fn changes(&self) -> Changes {
        *self.changes.lock()
    }

    /// Waits for a change. A change since the last call counts.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Returns the number of requests whose progress is observed.
    #[cfg(test)]
    pub(crate) fn listeners(&self) -> usize {
        self.listeners.lock().by_token.len()
    }

    /// Passes progress to the listener of its request.
    pub(crate) fn progress(&self, update: ProgressNotificationParam) {
        let mut listeners = self.listeners.lock();
        if let Some(listener) = listeners.by_token.get(&update.progress_token).cloned() {
            drop(listeners);
            return deliver(&listener, update);
        }
        let early = listeners.early.iter_mut().find(|(token, _)| *token == update.progress_token);
        if let Some((_, steps)) = early
            && steps.len() < MAX_EARLY_STEPS
        {
            steps.push(update);
        }
    }
}

impl Listeners {
    /// Removes and returns the buffered progress of a request.
    fn take_early(&mut self, token: &ProgressToken) -> Vec<ProgressNotificationParam> {
        let index = self.early.iter().position(|(early, _)| early == token);
        index.and_then(|index| self.early.remove(index)).map(|(_, steps)| steps).unwrap_or_default()
    }
}

fn deliver(listener: &Arc<dyn ProgressListener>, update: ProgressNotificationParam) {
    let message = update.message.map(|message| clean(&message, MAX_PROGRESS_CHARS));
    listener.progress(&Progress { done: update.progress, total: update.total, message });
}

/// The client of rmcp. It answers pings, and elicitation requests if there is a user. It does not support sampling and
/// roots.
pub(crate) struct ClientHandler {
    events: Arc<ServerEvents>,
}

impl ClientHandler {
    pub(crate) fn new(events: Arc<ServerEvents>) -> Self {
        Self { events }
    }
}

impl Service<RoleClient> for ClientHandler {
    async fn handle_request(
        &self,
        request: ServerRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        let error = |code, message: &'static str| Err(ErrorData::new(code, message, None));
        let broker = self.events.broker();
        match request {
            ServerRequest::PingRequest(_) => Ok(ClientResult::empty(())),
            ServerRequest::ElicitRequest(request) if broker.has_user() => tokio::select! {
                biased;
                () = context.ct.cancelled() => error(ErrorCode::INVALID_REQUEST, "the question was cancelled"),
                result = broker.answer_request(&request.params) => result.map(ClientResult::ElicitResult),
            },
            // rmcp could not parse it.
            ServerRequest::CustomRequest(CustomRequest { method, .. })
                if method == ElicitationCreateRequestMethod::VALUE && broker.has_user() =>
            {
                error(
                    ErrorCode::INVALID_PARAMS,
                    "the question has none of the forms that the protocol defines",
                )
            }
            _ => error(ErrorCode::METHOD_NOT_FOUND, "this client does not support the method"),
        }
    }

    async fn handle_notification(
        &self,
        notification: ServerNotification,
        _context: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        // The transport passes progress on, in order.
        self.events.note_change(&notification);
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.extensions = Some(extensions());
        capabilities.elicitation = self.events.broker().has_user().then(|| {
            ElicitationCapability::new()
                .with_form(FormElicitationCapability::new())
                .with_url(UrlElicitationCapability::new())
        });
        // The newest revision with the `initialize` handshake. The default of rmcp is a revision without it.
        ClientConfig::new(capabilities, Implementation::new("toolcrib", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}
