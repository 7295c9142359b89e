//! The one connection that the loader and the engine of a source share.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use rmcp::model::{ClientRequest, ServerResult};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use toolcrib_model::Tool;
use toolcrib_port::ProgressListener;
use tracing::{Instrument as _, Span};

use crate::backoff::{Failure, SETTLED_AFTER};
use crate::catalog::{self, Digests};
use crate::elicitation::Desk;
use crate::error::Error;
use crate::handler::{Changes, Events};
use crate::handshake::Era;
use crate::session::{Fault, Session};
use crate::tool::loaded_as;
use crate::ways::{Failed, Way, connect};
use crate::{McpSource, span};

/// A connection to an MCP server: made at the first load or call, kept, and made anew at the next one after the server
/// has died. Clones share it.
#[derive(Clone)]
pub struct McpConnection {
    shared: Arc<SharedState>,
}

struct SharedState {
    source: McpSource,
    state: Mutex<State>,
    /// How the server was spoken to last.
    way: Mutex<Option<Way>>,
    events: Arc<Events>,
}

enum State {
    /// Nothing is open.
    Idle { failed: Option<Failure> },
    /// An attempt is under way. Whoever wants the connection waits for this one.
    Connecting {
        outcome: Shared<BoxFuture<'static, Outcome>>,
        /// Ends the attempt early.
        stop: CancellationToken,
    },
    Open {
        session: Arc<Session>,
        /// How often in a row the server had failed before, and since when it runs.
        failures: u32,
        since: Instant,
        /// Ends with the state: it notices the death of the server.
        _watcher: AbortOnDropHandle<()>,
    },
    /// Closed for good.
    Closed,
}

type Outcome = Result<Arc<Session>, Error>;

/// Why a call is not sent.
pub(crate) enum Stale {
    /// There is no server to send it to.
    NoServer(Error),
    /// The server does not say what it has.
    Unlisted(String),
    /// It no longer has the tool.
    Gone,
    /// The tool is not what it was when it was loaded.
    Changed,
}

/// Why the call of a tool has no answer.
pub(crate) enum NoAnswer {
    /// It was not sent.
    Stale(Stale),
    /// It was, or there was nobody to send it to.
    Fault(Fault),
}

impl From<Fault> for NoAnswer {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// What a server answered, and in which session.
pub(crate) struct Answer {
    pub(crate) result: ServerResult,
    pub(crate) session: Arc<Session>,
}

impl McpConnection {
    /// A connection that is not made yet.
    pub fn new(source: McpSource) -> Self {
        Self::spoken_to(source, None)
    }

    fn spoken_to(source: McpSource, way: Option<Way>) -> Self {
        let state = Mutex::new(State::Idle { failed: None });
        let shared = SharedState { source, state, way: Mutex::new(way), events: Arc::default() };
        Self { shared: Arc::new(shared) }
    }

    /// Another connection to the same server, or to another process of it. It knows how the server is spoken to.
    pub(crate) fn another(&self) -> Self {
        let way = *self.shared.way.lock().unwrap_or_else(PoisonError::into_inner);
        Self::spoken_to(self.source().clone(), way)
    }

    /// What the app says about the server.
    pub fn source(&self) -> &McpSource {
        &self.shared.source
    }

    /// How it stands: in a word, or why the server is left alone or was of no use last.
    pub fn health(&self) -> Result<&'static str, String> {
        let mut state = self.shared.lock();
        state.let_go_of_the_dead();
        match &*state {
            State::Idle { failed: None } => Ok("not connected"),
            State::Idle { failed: Some(failed) } => Err(failed.reason().to_string()),
            State::Connecting { .. } => Ok("connecting"),
            State::Open { .. } => Ok("connected"),
            State::Closed => Ok("closed"),
        }
    }

    /// The open session, or a new one. Callers that come at the same time share one attempt, which goes on when one
    /// of them gives up.
    pub(crate) async fn session(&self) -> Outcome {
        let outcome = {
            let mut state = self.shared.lock();
            state.let_go_of_the_dead();
            match &*state {
                State::Open { session, .. } => return Ok(Arc::clone(session)),
                State::Closed => return Err(Error::Closed { target: self.source().target() }),
                State::Connecting { outcome, .. } => outcome.clone(),
                State::Idle { failed } => {
                    if let Some(waiting) = failed.as_ref().and_then(Failure::waiting) {
                        return Err(waiting);
                    }
                    let failures = failed.as_ref().map_or(0, Failure::times);
                    let stop = CancellationToken::new();
                    let outcome = self.start(failures, stop.clone());
                    *state = State::Connecting { outcome: outcome.clone(), stop };
                    outcome
                }
            }
        };
        outcome.await
    }

    /// Starts an attempt that depends on nobody's waiting for it, only on the connection itself.
    fn start(&self, failures: u32, stop: CancellationToken) -> Shared<BoxFuture<'static, Outcome>> {
        let weak = Arc::downgrade(&self.shared);
        let source = self.source().clone();
        let (target, events) = (source.target(), Arc::clone(&self.shared.events));
        let known = *self.shared.way.lock().unwrap_or_else(PoisonError::into_inner);
        let span = span::request("initialize", &source);
        let attempt = async move {
            let outcome = tokio::select! {
                outcome = connect(&source, known, &events) => outcome,
                () = stop.cancelled() => Err(Failed { error: Error::Closed { target: source.target() }, way: None }),
            };
            let (outcome, way) = match outcome {
                Ok((session, way)) => (Ok(Arc::new(session)), Some(way)),
                // One that does not start may come back as another one.
                Err(Failed { error, way }) => (Err(error), way),
            };
            if let Some(shared) = weak.upgrade() {
                *shared.way.lock().unwrap_or_else(PoisonError::into_inner) = way;
            }
            if outcome.is_err() {
                span::failed(&Span::current(), "unavailable");
            }
            settle(&weak, outcome, failures).await
        };
        let attempt = AbortOnDropHandle::new(tokio::spawn(attempt.instrument(span)));
        let weak = Arc::downgrade(&self.shared);
        let outcome = async move {
            match attempt.await {
                Ok(outcome) => outcome,
                // It has entered nothing into the state, which would be that of an attempt for ever.
                Err(error) if error.is_panic() => {
                    settle(&weak, Err(Error::Panicked { target }), failures).await
                }
                Err(_) => settle(&weak, Err(Error::Closed { target }), failures).await,
            }
        };
        outcome.boxed().shared()
    }

    /// Sends a request and waits for its answer. A request that the server cannot have seen, because it had died, is sent to
    /// its successor, and so is one that it refused in a revision which that no longer speaks. One that it refused because
    /// it had forgotten the session is sent again where that does no harm; no other is ever sent again.
    pub(crate) async fn request(
        &self,
        request: impl Fn() -> ClientRequest,
        listener: Option<&Arc<dyn ProgressListener>>,
    ) -> Result<Answer, Fault> {
        let session = || async { self.session().await.map_err(Fault::NoServer) };
        self.exchange(session, request, listener, true).await
    }

    /// The same for the call of a tool, which no server is sent that does not have the tool as it was loaded.
    pub(crate) async fn call(
        &self,
        tool: &Tool,
        request: impl Fn() -> ClientRequest,
        listener: Option<&Arc<dyn ProgressListener>>,
    ) -> Result<Answer, NoAnswer> {
        let session = || async { self.session_with(tool).await.map_err(NoAnswer::Stale) };
        self.exchange(session, request, listener, tool.is_idempotent()).await
    }

    async fn exchange<E: From<Fault>, S: Future<Output = Result<Arc<Session>, E>>>(
        &self,
        find_session: impl Fn() -> S,
        request: impl Fn() -> ClientRequest,
        listener: Option<&Arc<dyn ProgressListener>>,
        may_repeat: bool,
    ) -> Result<Answer, E> {
        let session = find_session().await?;
        let fault = match self.request_in(&session, request(), listener).await {
            Ok(result) => return Ok(Answer { result, session }),
            Err(fault) => fault,
        };
        let successor = match &fault {
            Fault::NotSent(_) => Some(find_session().await?),
            // Whatever is called next finds a session, and a tool that has changed is told.
            Fault::SessionExpired(_) => Some(find_session().await?).filter(|_| may_repeat),
            fault if session.is_new_era() && fault.is_of_another_era() => {
                self.shared.discard(&session, |_| State::Idle { failed: None });
                // One of the same era has looked at the request, and may have run it before it refused it.
                find_session().await.ok().filter(|successor| !successor.is_new_era())
            }
            _ => None,
        };
        let Some(session) = successor else { return Err(fault.into()) };
        let result = self.request_in(&session, request(), listener).await?;
        Ok(Answer { result, session })
    }

    async fn request_in(
        &self,
        session: &Arc<Session>,
        request: ClientRequest,
        listener: Option<&Arc<dyn ProgressListener>>,
    ) -> Result<ServerResult, Fault> {
        let outcome = session.request(request, listener.cloned()).await;
        if let Err(Fault::NotSent(_) | Fault::SessionExpired(_) | Fault::Lost { .. }) = outcome {
            self.shared.discard(session, State::after_the_end);
        }
        outcome
    }

    /// Where the server's questions to the user are put.
    pub(crate) fn desk(&self) -> &Desk {
        self.shared.events.desk()
    }

    /// Whether there is a conversation with the server.
    pub(crate) fn is_open(&self) -> bool {
        matches!(&*self.shared.lock(), State::Open { session, .. } if session.is_open())
    }

    /// Returns true if the server has ended, and starting it again did not help.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(&*self.shared.lock(), State::Idle { failed: Some(failure) } if failure.is_lasting())
    }

    /// When the server may be tried again, after it failed to start or to stay.
    pub(crate) fn retry_at(&self) -> Option<Instant> {
        match &*self.shared.lock() {
            State::Idle { failed: Some(failure) } => Some(failure.retry_at),
            _ => None,
        }
    }

    /// Notes that the server leaves those waiting who ask for its era, as is known from an earlier life.
    pub(crate) fn expect_silence(&self) {
        let mut way = self.shared.way.lock().unwrap_or_else(PoisonError::into_inner);
        way.get_or_insert(Way::direct(Era::Initialize));
    }

    /// A session with a server that still has the tool as it was loaded. The server is asked when it was started anew since
    /// then, or has told of a change. There is nothing to compare a tool with that was not loaded.
    async fn session_with(&self, tool: &Tool) -> Result<Arc<Session>, Stale> {
        let session = self.session().await.map_err(Stale::NoServer)?;
        let Some(then) = loaded_as(tool) else { return Ok(session) };
        let (listed, session) = match session.digests() {
            Some(listed) => (listed, session),
            None => self.list_again(session).await?,
        };
        let now = listed.get(tool.name.name());
        if now == Some(&then) {
            return Ok(session);
        }
        self.shared.events.ask_for_load();
        Err(if now.is_some() { Stale::Changed } else { Stale::Gone })
    }

    /// What the server lists, and the session in which it does: another one when the server had to be started anew.
    async fn list_again(&self, session: Arc<Session>) -> Result<(Arc<Digests>, Arc<Session>), Stale> {
        let _listing = session.listing().await;
        if let Some(listed) = session.digests() {
            return Ok((listed, Arc::clone(&session)));
        }
        let changes = self.shared.events.changes().tools;
        let (catalog, now) = catalog::fetch(self).await.map_err(|broken| Stale::Unlisted(broken.reason))?;
        // What is on disk, and what is offered, may be older.
        self.shared.events.ask_for_load();
        Ok((now.set_digests(catalog.digests(), changes), now))
    }

    /// Returns how often the server has said of each of its lists that it has changed.
    pub(crate) fn changes(&self) -> Changes {
        self.shared.events.changes()
    }

    /// Asks for a load, although the server has told of no change.
    pub(crate) fn ask_for_load(&self) {
        self.shared.events.ask_for_load();
    }

    /// Comes back when the server has said since the last time that what it lists has changed.
    pub(crate) async fn changed(&self) {
        self.shared.events.changed().await;
    }

    /// How many requests are listened to.
    #[cfg(test)]
    pub(crate) fn listeners(&self) -> usize {
        self.shared.events.listeners()
    }

    /// Closes the connection for good, in order: the server's input is closed, then it is waited for, then told to
    /// end, then killed.
    pub async fn close(&self) {
        let before = std::mem::replace(&mut *self.shared.lock(), State::Closed);
        match before {
            State::Open { session, .. } => session.close().await,
            State::Connecting { outcome, stop } => {
                stop.cancel();
                // It finds the connection closed, and so closes what it may have opened.
                let _ = outcome.await;
            }
            State::Idle { .. } | State::Closed => {}
        }
    }
}

impl SharedState {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of a session that no longer works, unless a newer one has taken its place. `after` says what the state is
    /// then.
    fn discard(&self, session: &Arc<Session>, after: impl FnOnce(&State) -> State) {
        let mut state = self.lock();
        if matches!(&*state, State::Open { session: current, .. } if Arc::ptr_eq(current, session)) {
            *state = after(&state);
        }
    }
}

impl State {
    /// Lets go of a session that no longer works, where nobody has noticed yet.
    fn let_go_of_the_dead(&mut self) {
        if matches!(self, Self::Open { session, .. } if !session.is_open()) {
            *self = self.after_the_end();
        }
    }

    /// What follows the end of the session. A program that ended before it was of any use may do so again and again.
    fn after_the_end(&self) -> Self {
        let failed = match self {
            Self::Open { session, failures, since, .. }
                if !session.has_served() && since.elapsed() < SETTLED_AFTER =>
            {
                session.end_of_process().map(|last| Failure::to_stay(*failures, last))
            }
            _ => None,
        };
        Self::Idle { failed }
    }
}

/// Enters what came of an attempt into the state.
async fn settle(shared: &Weak<SharedState>, outcome: Outcome, failures: u32) -> Outcome {
    let Some(shared) = shared.upgrade() else { return outcome };
    let closed = {
        let mut state = shared.lock();
        if matches!(*state, State::Closed) {
            true
        } else {
            *state = match &outcome {
                Ok(session) => State::Open {
                    session: Arc::clone(session),
                    failures,
                    since: Instant::now(),
                    _watcher: watch(&shared, session),
                },
                Err(error) => State::Idle { failed: Some(Failure::to_start(failures, error.clone())) },
            };
            false
        }
    };
    match outcome {
        Ok(session) if closed => {
            session.close().await;
            Err(Error::Closed { target: shared.source.target() })
        }
        outcome => outcome,
    }
}

/// Lets go of a session when its server dies while nobody calls.
fn watch(shared: &Arc<SharedState>, session: &Arc<Session>) -> AbortOnDropHandle<()> {
    let (shared, session) = (Arc::downgrade(shared), Arc::clone(session));
    AbortOnDropHandle::new(tokio::spawn(async move {
        session.ended().await;
        if let Some(shared) = shared.upgrade() {
            shared.discard(&session, State::after_the_end);
        }
    }))
}
