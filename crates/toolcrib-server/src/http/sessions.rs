//! The sessions of clients before revision 2026-07-28, each bound to the client that started it.

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use axum::body::Body;
use futures::Stream;
use http::{Response, StatusCode};
use parking_lot::Mutex;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use tokio::runtime::Handle;

use super::handoff::Handoff;
use super::reply;

/// The sessions as a request of a client sees them: a session of another client does not exist for it.
pub(super) struct ClientSessions {
    sessions: Arc<Sessions>,
    client: Arc<str>,
    /// The session that the request has started.
    begun: OnceLock<SessionId>,
}

/// A request without a response yet. If it is dropped before [`answered`](Self::answered), the session that it has
/// started is closed: its client has never learned the id.
pub(super) struct UnansweredRequest {
    sessions: Arc<ClientSessions>,
    is_answered: bool,
}

impl UnansweredRequest {
    pub(super) fn new(sessions: Arc<ClientSessions>) -> Self {
        Self { sessions, is_answered: false }
    }

    pub(super) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for UnansweredRequest {
    fn drop(&mut self) {
        let Some(session) = self.sessions.begun.get().filter(|_| !self.is_answered).cloned() else { return };
        // A runtime that shuts down ends its sessions itself.
        let Ok(runtime) = Handle::try_current() else { return };
        let sessions = Arc::clone(&self.sessions);
        runtime.spawn(async move {
            if let Err(error) = sessions.close_session(&session).await {
                tracing::warn!(%error, "a session whose client went away while it began is not closed");
            }
        });
    }
}

/// The events of a session.
type Events = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

/// Boxes events, whose type would name the lifetime of the id that they were asked with.
fn boxed(events: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static) -> Events {
    Box::pin(events)
}

/// The maximum number of sessions of one client, within `serve.limits.sessions`.
pub(crate) const MAX_SESSIONS_OF_CLIENT: usize = 256;

/// The sessions of all clients.
pub(super) struct Sessions {
    local: LocalSessionManager,
    /// The prefix of the ids, where several processes serve the app.
    handoff: Option<Arc<Handoff>>,
    known: Mutex<HashMap<SessionId, SessionEntry>>,
    /// The number of unanswered requests of each client that start a session.
    opening: Mutex<HashMap<Arc<str>, usize>>,
}

/// The reason why a session is not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionLimit {
    /// There are too many sessions.
    InAll,
    /// This client has too many sessions.
    OfClient,
}

impl SessionLimit {
    /// Returns the response to a request for a session beyond the maximum.
    pub(super) fn response(self) -> Response<Body> {
        match self {
            Self::InAll => reply::last(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions"),
            Self::OfClient => {
                let text = format!(
                    "this client has {MAX_SESSIONS_OF_CLIENT} sessions, which is the maximum; end unused ones with DELETE"
                );
                reply::last(StatusCode::TOO_MANY_REQUESTS, &text)
            }
        }
    }
}

/// A request that starts a session. It counts as a session until it is answered.
pub(super) struct SessionReservation {
    sessions: Arc<Sessions>,
    client: Arc<str>,
}

impl Drop for SessionReservation {
    fn drop(&mut self) {
        let mut opening = self.sessions.opening.lock();
        if let Some(count) = opening.get_mut(&self.client) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                opening.remove(&self.client);
            }
        }
    }
}

struct SessionEntry {
    client: Arc<str>,
    /// The ids of its unanswered requests.
    running: HashSet<String>,
}

/// The result of recording a request as running.
pub(super) enum RequestStatus {
    Runs(RunningRequest),
    /// The session does not exist. The response has a different status.
    NoSession,
    /// A request with this id is running already.
    Duplicate,
}

/// The id of a running request of a session, released when this is dropped.
pub(super) struct RunningRequest {
    sessions: Arc<Sessions>,
    session: SessionId,
    id: String,
}

impl Sessions {
    pub(super) fn new(handoff: Option<Arc<Handoff>>) -> Arc<Self> {
        Arc::new(Self {
            local: LocalSessionManager::default(),
            handoff,
            known: Mutex::default(),
            opening: Mutex::default(),
        })
    }

    /// Returns the id of a session in this process.
    fn local_id(&self, id: &SessionId) -> SessionId {
        match (&self.handoff, id.split_once('.')) {
            (Some(_), Some((_, local))) => local.into(),
            _ => id.clone(),
        }
    }

    /// Returns the sessions as a request of this client sees them.
    pub(super) fn of(self: &Arc<Self>, client: &Arc<str>) -> Arc<ClientSessions> {
        let (sessions, client) = (Arc::clone(self), Arc::clone(client));
        Arc::new(ClientSessions { sessions, client, begun: OnceLock::new() })
    }

    pub(super) fn count(&self) -> usize {
        self.known.lock().len()
    }

    /// Reserves a session for a client, within the limits.
    pub(super) fn open(
        self: &Arc<Self>,
        client: &Arc<str>,
        most: usize,
    ) -> Result<SessionReservation, SessionLimit> {
        let mut opening = self.opening.lock();
        let (all, own) = {
            let known = self.known.lock();
            (known.len(), known.values().filter(|known| known.client == *client).count())
        };
        if all + opening.values().sum::<usize>() >= most {
            return Err(SessionLimit::InAll);
        }
        if own + opening.get(client).copied().unwrap_or_default() >= MAX_SESSIONS_OF_CLIENT {
            return Err(SessionLimit::OfClient);
        }
        *opening.entry(Arc::clone(client)).or_default() += 1;
        Ok(SessionReservation { sessions: Arc::clone(self), client: Arc::clone(client) })
    }

    /// Returns true if this client has such a session.
    pub(super) fn has(&self, client: &str, session: &str) -> bool {
        let session: SessionId = session.into();
        self.known.lock().get(&session).is_some_and(|known| known.client.as_ref() == client)
    }

    /// Records a request as running.
    pub(super) fn run(self: &Arc<Self>, session: &str, id: &str) -> RequestStatus {
        let session: SessionId = session.into();
        let mut all = self.known.lock();
        let Some(known) = all.get_mut(&session) else { return RequestStatus::NoSession };
        if !known.running.insert(id.to_owned()) {
            return RequestStatus::Duplicate;
        }
        drop(all);
        RequestStatus::Runs(RunningRequest { sessions: Arc::clone(self), session, id: id.to_owned() })
    }
}

impl ClientSessions {
    /// Returns the manager of the sessions, and the id for it, if the session belongs to the client.
    fn owning(&self, id: &SessionId) -> Result<(&LocalSessionManager, SessionId), LocalSessionManagerError> {
        if self.sessions.has(&self.client, id) {
            Ok((&self.sessions.local, self.sessions.local_id(id)))
        } else {
            Err(LocalSessionManagerError::SessionNotFound(id.clone()))
        }
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        if let Some(known) = self.sessions.known.lock().get_mut(&self.session) {
            known.running.remove(&self.id);
        }
    }
}

impl SessionManager for ClientSessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let (mut id, transport) = self.sessions.local.create_session().await?;
        if let Some(handoff) = &self.sessions.handoff {
            id = handoff.session_id(&id).into();
        }
        // A request starts at most one session.
        let _ = self.begun.set(id.clone());
        let client = Arc::clone(&self.client);
        self.sessions.known.lock().insert(id.clone(), SessionEntry { client, running: HashSet::new() });
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.sessions.local.initialize_session(&self.sessions.local_id(id), message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        let local = self.sessions.local_id(id);
        Ok(self.sessions.has(&self.client, id) && self.sessions.local.has_session(&local).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        // rmcp also closes the session when its worker ends, after a DELETE for the second time.
        if self.sessions.known.lock().get(id).is_some_and(|known| known.client != self.client) {
            return Err(LocalSessionManagerError::SessionNotFound(id.clone()));
        }
        self.sessions.known.lock().remove(id);
        self.sessions.local.close_session(&self.sessions.local_id(id)).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let (sessions, id) = self.owning(id)?;
        Ok(boxed(sessions.create_stream(&id, message).await?))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        let (sessions, id) = self.owning(id)?;
        sessions.accept_message(&id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let (sessions, id) = self.owning(id)?;
        Ok(boxed(sessions.create_standalone_stream(&id).await?))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let (sessions, id) = self.owning(id)?;
        Ok(boxed(sessions.resume(&id, last_event_id).await?))
    }
}
