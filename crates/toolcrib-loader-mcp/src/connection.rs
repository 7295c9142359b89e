//! The one connection that the loader and the engine of a source share.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use rmcp::model::{ClientRequest, ServerResult};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument as _, Span};

use crate::error::Error;
use crate::session::{Fault, Session};
use crate::{McpSource, McpTransport, http, span, stdio};

/// How long to leave a server alone after it failed to start for the first time. Each further failure doubles it.
pub const FIRST_BACKOFF: Duration = Duration::from_millis(500);

/// The longest that a server which fails to start is left alone.
pub const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// A connection to an MCP server: made at the first load or call, kept, and made anew at the next one after the server
/// has died. Clones share it.
#[derive(Clone)]
pub struct McpConnection {
    shared: Arc<SharedState>,
}

struct SharedState {
    source: McpSource,
    state: Mutex<State>,
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
        /// Ends with the state: it notices the death of the server.
        _watcher: AbortOnDropHandle<()>,
    },
    /// Closed for good.
    Closed,
}

type Outcome = Result<Arc<Session>, Error>;

/// How often in a row the server did not start, and when it may be tried again.
#[derive(Clone)]
struct Failure {
    times: u32,
    last: Error,
    retry_at: Instant,
}

impl McpConnection {
    /// A connection that is not made yet.
    pub fn new(source: McpSource) -> Self {
        Self { shared: Arc::new(SharedState { source, state: Mutex::new(State::Idle { failed: None }) }) }
    }

    /// What the app says about the server.
    pub fn source(&self) -> &McpSource {
        &self.shared.source
    }

    /// The open session, or a new one. Callers that come at the same time share one attempt, which goes on when one
    /// of them gives up.
    pub(crate) async fn session(&self) -> Outcome {
        let outcome = {
            let mut state = self.shared.lock();
            match &*state {
                State::Open { session, .. } if session.is_open() => return Ok(Arc::clone(session)),
                State::Closed => return Err(Error::Closed { target: self.source().target() }),
                State::Connecting { outcome, .. } => outcome.clone(),
                State::Idle { failed: Some(failure) } if failure.retry_at > Instant::now() => {
                    let wait = failure.retry_at - Instant::now();
                    return Err(Error::Waiting { last: Box::new(failure.last.clone()), wait });
                }
                State::Idle { .. } | State::Open { .. } => {
                    let times = match &*state {
                        State::Idle { failed: Some(failure) } => failure.times,
                        _ => 0,
                    };
                    let stop = CancellationToken::new();
                    let outcome = self.start(times, stop.clone());
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
        let target = source.target();
        let span = span::request("initialize", &source);
        let attempt = async move {
            let outcome = tokio::select! {
                outcome = connect(&source) => outcome.map(Arc::new),
                () = stop.cancelled() => Err(Error::Closed { target: source.target() }),
            };
            if outcome.is_err() {
                span::failed(&Span::current(), "unavailable");
            }
            settle(&weak, outcome, failures).await
        };
        let attempt = AbortOnDropHandle::new(tokio::spawn(attempt.instrument(span)));
        async move { attempt.await.unwrap_or(Err(Error::Closed { target })) }.boxed().shared()
    }

    /// Sends a request and waits for its answer. A request that the server cannot have seen, because it had died or
    /// forgotten the session, is sent to its successor; no other is ever sent again.
    pub(crate) async fn request(&self, request: impl Fn() -> ClientRequest) -> Result<ServerResult, Fault> {
        let outcome = self.request_once(request()).await;
        if let Err(Fault::NotSent(_)) = outcome { self.request_once(request()).await } else { outcome }
    }

    async fn request_once(&self, request: ClientRequest) -> Result<ServerResult, Fault> {
        let session = self.session().await.map_err(Fault::NoServer)?;
        let outcome = session.request(request).await;
        if let Err(Fault::NotSent(_) | Fault::Lost { .. }) = outcome {
            self.shared.discard(&session);
        }
        outcome
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

    /// Lets go of a session that no longer works, unless a newer one has taken its place.
    fn discard(&self, session: &Arc<Session>) {
        let mut state = self.lock();
        if matches!(&*state, State::Open { session: current, .. } if Arc::ptr_eq(current, session)) {
            *state = State::Idle { failed: None };
        }
    }
}

async fn connect(source: &McpSource) -> Result<Session, Error> {
    match &source.transport {
        McpTransport::Stdio { command, env, cwd } => stdio::open(source, command, env, cwd.as_deref()).await,
        McpTransport::Http { url, headers, allow_private } => {
            http::open(source, url, headers, *allow_private).await
        }
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
                Ok(session) => {
                    State::Open { session: Arc::clone(session), _watcher: watch(&shared, session) }
                }
                Err(error) => {
                    let backoff =
                        FIRST_BACKOFF.saturating_mul(2_u32.saturating_pow(failures)).min(MAX_BACKOFF);
                    let retry_at = Instant::now() + backoff;
                    State::Idle {
                        failed: Some(Failure { times: failures + 1, last: error.clone(), retry_at }),
                    }
                }
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
            shared.discard(&session);
        }
    }))
}
