//! The connection that the loader and the engine of a source share.

pub(crate) mod backoff;
pub(crate) mod client_handler;
mod discover_probe;
pub(crate) mod handshake;
mod negotiation;
mod ordered_progress;
mod resource_watches;
pub(crate) mod session;
mod subscription;
mod suspension;
mod watch;

use std::sync::{Arc, Weak};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use rmcp::model::{ClientRequest, ServerResult};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use toolcrib_model::Tool;
use toolcrib_port::ProgressListener;
use tracing::{Instrument as _, Span};

use crate::calls::session_engines::UserConnection;
use crate::connection::backoff::Failure;
use crate::connection::client_handler::{Changes, ServerEvents};
use crate::connection::handshake::HandshakeMode;
use crate::connection::negotiation::{Candidate, NegotiationError, negotiate};
use crate::connection::session::{RequestError, Session};
use crate::connection::suspension::Suspension;
use crate::elicitation::ElicitationBroker;
use crate::error::Error;
use crate::tools::catalog;
use crate::tools::conversion::loaded_digest;
use crate::tools::digest::Digests;
use crate::{McpSource, span};

/// A connection to an MCP server. It is opened by the first load or call, and opened again by the next one after the
/// server has exited. Clones share it.
#[derive(Clone)]
pub struct McpConnection {
    shared: Arc<SharedState>,
}

struct SharedState {
    source: McpSource,
    state: Mutex<ConnectionState>,
    /// The transport and handshake that worked last.
    candidate: Mutex<Option<Candidate>>,
    events: Arc<ServerEvents>,
    suspension: Arc<Suspension>,
}

enum ConnectionState {
    /// No session is open.
    Idle { failed: Option<Failure> },
    /// An attempt is in progress. Callers that need the connection wait for this attempt.
    Connecting {
        outcome: Shared<BoxFuture<'static, Outcome>>,
        /// Cancels the attempt.
        stop: CancellationToken,
    },
    Open {
        session: Arc<Session>,
        /// The number of consecutive failures before this session, and the time at which it opened.
        failures: u32,
        since: Instant,
        /// The task that notices the end of the server. It is aborted when the state changes.
        _watcher: AbortOnDropHandle<()>,
    },
    /// Closed permanently.
    Closed,
}

type Outcome = Result<Arc<Session>, Error>;

/// The reason that a call is not sent.
pub(crate) enum StaleToolError {
    /// There is no server to send it to.
    NoServer(Error),
    /// The tool list of the server cannot be fetched.
    Unlisted(String),
    /// The server no longer has the tool.
    Removed,
    /// The tool has changed since it was loaded.
    Changed,
}

/// The reason that a tool call has no response.
pub(crate) enum CallError {
    /// The call was not sent, because the tool is not the one that was loaded.
    Stale(StaleToolError),
    /// The request failed, or there was no server to send it to.
    Request(RequestError),
}

impl From<RequestError> for CallError {
    fn from(fault: RequestError) -> Self {
        Self::Request(fault)
    }
}

/// The response of a server, and the session in which it arrived.
pub(crate) struct ServerResponse {
    pub(crate) result: ServerResult,
    pub(crate) session: Arc<Session>,
}

impl McpConnection {
    /// Creates a connection that is not open yet.
    pub fn new(source: McpSource) -> Self {
        Self::with_candidate(source, None, Arc::default())
    }

    fn with_candidate(source: McpSource, candidate: Option<Candidate>, suspension: Arc<Suspension>) -> Self {
        let state = Mutex::new(ConnectionState::Idle { failed: None });
        let events = Arc::new(ServerEvents::new(&source.namespace));
        let candidate = Mutex::new(candidate);
        let shared = Arc::new(SharedState { source, state, candidate, events, suspension });
        shared.suspension.add(&shared);
        Self { shared }
    }

    /// Returns a separate connection to the same server: for a command, to another process. It starts with the
    /// transport and handshake that worked here, and its server asks the same user.
    pub(crate) fn separate(&self) -> Self {
        self.separate_to(self.source().clone())
    }

    /// Returns the same for a user.
    pub(crate) fn separate_for_user(&self, user: UserConnection) -> Self {
        let source = self.source().clone().for_user(&user.user).with_headers(user.headers);
        self.separate_to(match user.subject {
            Some(subject) => source.for_subject(subject),
            None => source,
        })
    }

    fn separate_to(&self, source: McpSource) -> Self {
        let candidate = *self.shared.candidate.lock();
        let separate = Self::with_candidate(source, candidate, Arc::clone(&self.shared.suspension));
        separate.broker().set_has_user(self.broker().has_user());
        separate
    }

    /// Returns the source that the connection is for.
    pub fn source(&self) -> &McpSource {
        &self.shared.source
    }

    /// Returns the state of the connection in a few words, or an error with the last failure.
    pub fn health(&self) -> Result<&'static str, String> {
        let mut state = self.shared.state.lock();
        state.drop_closed_session();
        match &*state {
            _ if self.is_suspended() => Ok("disabled"),
            ConnectionState::Idle { failed: None } => Ok("not connected"),
            ConnectionState::Idle { failed: Some(failed) } => Err(failed.reason().to_string()),
            ConnectionState::Connecting { .. } => Ok("connecting"),
            ConnectionState::Open { .. } => Ok("connected"),
            ConnectionState::Closed => Ok("closed"),
        }
    }

    /// Returns the open session, or opens one. Concurrent callers share one attempt, which continues if one of them is
    /// cancelled.
    pub(crate) async fn session(&self) -> Outcome {
        let outcome = {
            let mut state = self.shared.state.lock();
            state.drop_closed_session();
            match &*state {
                _ if self.is_suspended() => {
                    return Err(Error::Suspended { target: self.source().target() });
                }
                ConnectionState::Open { session, .. } => return Ok(Arc::clone(session)),
                ConnectionState::Closed => return Err(Error::Closed { target: self.source().target() }),
                ConnectionState::Connecting { outcome, .. } => outcome.clone(),
                ConnectionState::Idle { failed } => {
                    if let Some(backoff_error) = failed.as_ref().and_then(Failure::backoff_error) {
                        return Err(backoff_error);
                    }
                    let failures = failed.as_ref().map_or(0, Failure::times);
                    let stop = CancellationToken::new();
                    let outcome = self.start(failures, stop.clone());
                    *state = ConnectionState::Connecting { outcome: outcome.clone(), stop };
                    outcome
                }
            }
        };
        outcome.await
    }

    /// Starts an attempt that does not depend on its callers, only on the connection.
    fn start(&self, failures: u32, stop: CancellationToken) -> Shared<BoxFuture<'static, Outcome>> {
        let weak = Arc::downgrade(&self.shared);
        let source = self.source().clone();
        let (target, events) = (source.target(), Arc::clone(&self.shared.events));
        let known = *self.shared.candidate.lock();
        let span = span::request("initialize", &source);
        let attempt = async move {
            let outcome = tokio::select! {
                outcome = negotiate(&source, known, &events) => outcome,
                () = stop.cancelled() => Err(NegotiationError { error: Error::Closed { target: source.target() }, candidate: None }),
            };
            let (outcome, candidate) = match outcome {
                Ok((session, candidate)) => (Ok(Arc::new(session)), Some(candidate)),
                // A server that does not start may be another one when it returns.
                Err(NegotiationError { error, candidate }) => (Err(error), candidate),
            };
            if let Some(shared) = weak.upgrade() {
                *shared.candidate.lock() = candidate;
            }
            if outcome.is_err() {
                span::failed(&Span::current(), "unavailable");
            }
            finish_attempt(&weak, outcome, failures).await
        };
        let attempt = AbortOnDropHandle::new(tokio::spawn(attempt.instrument(span)));
        let weak = Arc::downgrade(&self.shared);
        let outcome = async move {
            match attempt.await {
                Ok(outcome) => outcome,
                // The task has not updated the state, which would otherwise stay `Connecting` for ever.
                Err(error) if error.is_panic() => {
                    finish_attempt(&weak, Err(Error::Panicked { target }), failures).await
                }
                Err(_) => finish_attempt(&weak, Err(Error::Closed { target }), failures).await,
            }
        };
        outcome.boxed().shared()
    }

    /// Sends a request and waits for its response.
    ///
    /// The request is sent a second time in three cases: if the server had exited and cannot have seen it; if the
    /// server rejected it because it has restarted with an older protocol revision; and if the server had forgotten the
    /// session and the request is safe to repeat. No other request is repeated.
    pub(crate) async fn request(
        &self,
        request: impl Fn() -> ClientRequest,
        listener: Option<&Arc<dyn ProgressListener>>,
    ) -> Result<ServerResponse, RequestError> {
        let session = || async { self.session().await.map_err(RequestError::NoServer) };
        self.exchange(session, request, listener, true).await
    }

    /// Like [`request`](Self::request), for the call of a tool. The call is only sent if the server still has the tool
    /// as it was loaded.
    pub(crate) async fn call(
        &self,
        tool: &Tool,
        request: impl Fn() -> ClientRequest,
        listener: Option<&Arc<dyn ProgressListener>>,
    ) -> Result<ServerResponse, CallError> {
        let session = || async { self.session_with(tool).await.map_err(CallError::Stale) };
        self.exchange(session, request, listener, tool.traits().idempotent).await
    }

    async fn exchange<E: From<RequestError>, S: Future<Output = Result<Arc<Session>, E>>>(
        &self,
        find_session: impl Fn() -> S,
        request: impl Fn() -> ClientRequest,
        listener: Option<&Arc<dyn ProgressListener>>,
        may_repeat: bool,
    ) -> Result<ServerResponse, E> {
        let session = find_session().await?;
        let fault = match self.request_in(&session, request(), listener).await {
            Ok(result) => return Ok(ServerResponse { result, session }),
            Err(fault) => fault,
        };
        let successor = match &fault {
            RequestError::NotSent(_) => Some(find_session().await?),
            // The next call finds a session, and notices a tool that has changed.
            RequestError::SessionExpired(_) => Some(find_session().await?).filter(|_| may_repeat),
            fault if session.has_no_handshake() && fault.is_revision_mismatch() => {
                self.shared.discard(&session, |_| ConnectionState::Idle { failed: None });
                // A server of the same revision has processed the request, and may have run it before it reported the
                // error.
                find_session().await.ok().filter(|successor| !successor.has_no_handshake())
            }
            _ => None,
        };
        let Some(session) = successor else { return Err(fault.into()) };
        let result = self.request_in(&session, request(), listener).await?;
        Ok(ServerResponse { result, session })
    }

    async fn request_in(
        &self,
        session: &Arc<Session>,
        request: ClientRequest,
        listener: Option<&Arc<dyn ProgressListener>>,
    ) -> Result<ServerResult, RequestError> {
        let outcome = session.request(request, listener.cloned()).await;
        if let Err(RequestError::NotSent(_) | RequestError::SessionExpired(_) | RequestError::Lost { .. }) =
            outcome
        {
            self.shared.discard(session, ConnectionState::after_session_end);
        }
        outcome
    }

    /// Returns the part of the connection that asks the user the server's questions.
    pub(crate) fn broker(&self) -> &ElicitationBroker {
        self.shared.events.broker()
    }

    /// Returns true if a session with the server is open.
    pub(crate) fn is_open(&self) -> bool {
        matches!(&*self.shared.state.lock(), ConnectionState::Open { session, .. } if session.is_open())
    }

    /// Returns true if the server has exited, and starting it again did not help.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(&*self.shared.state.lock(), ConnectionState::Idle { failed: Some(failure) } if failure.is_persistent())
    }

    /// Returns the time of the next attempt, if the server failed to start or exited early.
    pub(crate) fn retry_at(&self) -> Option<Instant> {
        match &*self.shared.state.lock() {
            ConnectionState::Idle { failed: Some(failure) } => Some(failure.retry_at),
            _ => None,
        }
    }

    /// Records, from an earlier run, that the server does not answer `server/discover`.
    pub(crate) fn expect_no_discover(&self) {
        let mut candidate = self.shared.candidate.lock();
        candidate.get_or_insert(Candidate::direct(HandshakeMode::Initialize));
    }

    /// Returns a session with a server that still has the tool as it was loaded. The tools are listed again if the
    /// server was restarted since, or has announced a change. A tool that was not loaded from a server is not checked.
    async fn session_with(&self, tool: &Tool) -> Result<Arc<Session>, StaleToolError> {
        let session = self.session().await.map_err(StaleToolError::NoServer)?;
        let Some(then) = loaded_digest(tool) else { return Ok(session) };
        let (listed, session) = match session.digests() {
            Some(listed) => (listed, session),
            None => self.relist(session).await?,
        };
        let now = listed.get(tool.name.name());
        if now == Some(&then) {
            return Ok(session);
        }
        self.shared.events.ask_for_load();
        Err(if now.is_some() { StaleToolError::Changed } else { StaleToolError::Removed })
    }

    /// Lists the tools of the server. Returns the list with its session, which is a new one if the server had to be
    /// restarted.
    async fn relist(&self, session: Arc<Session>) -> Result<(Arc<Digests>, Arc<Session>), StaleToolError> {
        let _listing = session.listing().await;
        if let Some(listed) = session.digests() {
            return Ok((listed, Arc::clone(&session)));
        }
        let changes = self.shared.events.changes().tools;
        let (catalog, now) =
            catalog::fetch(self).await.map_err(|broken| StaleToolError::Unlisted(broken.reason))?;
        // The cached list, and the tools in the registry, may be older.
        self.shared.events.ask_for_load();
        Ok((now.set_digests(catalog.digests(), changes), now))
    }

    /// Returns how often the server has announced a change of each of its lists.
    pub(crate) fn changes(&self) -> Changes {
        self.shared.events.changes()
    }

    /// Requests a load from the server itself, since a separate connection has found other tools there than the known
    /// ones.
    pub(crate) fn ask_for_fresh_load(&self) {
        self.shared.events.ask_for_fresh_load();
    }

    /// Returns true once for each [request](Self::ask_for_fresh_load) for a load from the server.
    pub(crate) fn take_outdated_list(&self) -> bool {
        self.shared.events.take_outdated_list()
    }

    /// Waits until the server announces that a list has changed. A change since the last call counts.
    pub(crate) async fn changed(&self) {
        self.shared.events.changed().await;
    }

    /// Returns the number of requests whose progress is observed.
    #[cfg(test)]
    pub(crate) fn listeners(&self) -> usize {
        self.shared.events.listeners()
    }

    /// Closes the connection permanently. A process gets its input closed, then time to exit, then SIGTERM, then
    /// SIGKILL.
    pub async fn close(&self) {
        let before = std::mem::replace(&mut *self.shared.state.lock(), ConnectionState::Closed);
        self.shared.events.watches().clear();
        match before {
            ConnectionState::Open { session, .. } => session.close().await,
            ConnectionState::Connecting { outcome, stop } => {
                stop.cancel();
                // The attempt finds the connection closed, and closes the session that it may have opened.
                let _ = outcome.await;
            }
            ConnectionState::Idle { .. } | ConnectionState::Closed => {}
        }
    }
}

impl SharedState {
    /// Drops a session that no longer works, unless a newer one has replaced it. `after` returns the next state.
    fn discard(&self, session: &Arc<Session>, after: impl FnOnce(&ConnectionState) -> ConnectionState) {
        let mut state = self.state.lock();
        if matches!(&*state, ConnectionState::Open { session: current, .. } if Arc::ptr_eq(current, session))
        {
            *state = after(&state);
        }
    }
}

impl ConnectionState {
    /// Drops a session that has ended unnoticed.
    fn drop_closed_session(&mut self) {
        if matches!(self, Self::Open { session, .. } if !session.is_open()) {
            *self = self.after_session_end();
        }
    }

    /// Returns the state after the end of the session. A program that exited early, before it answered a call, may do
    /// so again and again, so that counts as a failure.
    fn after_session_end(&self) -> Self {
        let failed = match self {
            Self::Open { session, failures, since, .. }
                if !session.has_answered_call() && since.elapsed() < backoff::SETTLED_AFTER =>
            {
                session.exit_cause().map(|last| Failure::early_exit(*failures, last))
            }
            _ => None,
        };
        Self::Idle { failed }
    }
}

/// Stores the outcome of an attempt in the state.
async fn finish_attempt(shared: &Weak<SharedState>, outcome: Outcome, failures: u32) -> Outcome {
    let Some(shared) = shared.upgrade() else { return outcome };
    let closed = {
        let mut state = shared.state.lock();
        if matches!(*state, ConnectionState::Closed) {
            true
        } else if shared.suspension.is_suspended() {
            *state = ConnectionState::Idle { failed: None };
            true
        } else {
            *state = match &outcome {
                Ok(session) => ConnectionState::Open {
                    session: Arc::clone(session),
                    failures,
                    since: Instant::now(),
                    _watcher: watch_end(&shared, session),
                },
                Err(error) => {
                    ConnectionState::Idle { failed: Some(Failure::failed_start(failures, error.clone())) }
                }
            };
            false
        }
    };
    match outcome {
        Ok(session) if !closed => {
            watch::subscribe_again(&shared, &session);
            Ok(session)
        }
        Ok(session) => {
            session.close().await;
            Err(Error::Closed { target: shared.source.target() })
        }
        Err(error) => Err(error),
    }
}

/// Spawns a task that drops the session when its server ends between calls.
fn watch_end(shared: &Arc<SharedState>, session: &Arc<Session>) -> AbortOnDropHandle<()> {
    let (shared, session) = (Arc::downgrade(shared), Arc::clone(session));
    AbortOnDropHandle::new(tokio::spawn(async move {
        session.ended().await;
        if let Some(shared) = shared.upgrade() {
            shared.discard(&session, ConnectionState::after_session_end);
        }
    }))
}
