//! One life of a server: from its handshake to its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use rmcp::model::{
    CancelledNotificationParam, ClientRequest, ErrorCode, ErrorData, ProgressToken, RequestId,
    ServerPeerInfo, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RunningService};
use rmcp::transport::DynamicTransportError;
use rmcp::{RoleClient, ServiceError};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use toolcrib_model::ErrorKind;
use toolcrib_port::ProgressListener;
use tracing::Span;

use crate::backoff::Last;
use crate::catalog::Digests;
use crate::error::Error;
use crate::handler::{Client, Events};
use crate::message::unreadable;
use crate::stdio::Process;
use crate::subscription;

/// How long what a server wrote before it ended may take to arrive. Its descendants can hold the pipe open, so the end
/// of the pipe cannot be waited for.
pub(crate) const LAST_WORDS: Duration = Duration::from_millis(250);

/// How long a server that closed its output may take to end, so that the error can say how it did.
pub(crate) const EXIT_WAIT: Duration = Duration::from_millis(500);

/// How long a cancellation may take to be written. A server that has stopped reading for so long is given up.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an ordered end of the conversation may take before the process is ended anyway.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(2);

/// How servers over Streamable HTTP with sessions refuse what comes without one.
const OLD_ANSWERS: &[&str] = &["HTTP 400", "HTTP 404", "HTTP 422"];

/// Tells what a failed transmission means. The transport knows.
pub(crate) type Classify = Box<dyn Fn(&DynamicTransportError) -> Fault + Send + Sync>;

/// A running conversation with a server.
pub(crate) struct Session {
    target: String,
    peer: Peer<RoleClient>,
    service: Mutex<Option<RunningService<RoleClient, Client>>>,
    process: Option<Process>,
    classify: Classify,
    events: Arc<Events>,
    /// Whether the server leaves those waiting who ask for its era.
    ignores_discover: bool,
    /// Hears of changes, where the server tells them on a subscription.
    subscription: Option<AbortOnDropHandle<()>>,
    /// The tools that the server listed in this session, and how many changes of them it had told of before.
    listed: RwLock<Option<(u64, Arc<Digests>)>>,
    /// Held while the list is fetched, so that calls side by side fetch it once.
    listing: tokio::sync::Mutex<()>,
    /// Set when the conversation is given up although the server may still run.
    lost: CancellationToken,
    /// Whether a call was answered.
    has_served: AtomicBool,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) enum Fault {
    /// There is no server to send it to.
    NoServer(Error),
    /// The server never saw the request, so that sending it again does not do it twice.
    NotSent(String),
    /// The server does not know the session any more. By the protocol it has not looked into the request.
    SessionExpired(String),
    /// The server turned the request away without looking into it.
    TurnedAway {
        /// Overloaded or unavailable.
        kind: ErrorKind,
        /// What it said.
        reason: String,
    },
    /// The server answered with an error of the protocol.
    Rpc(ErrorData),
    /// The server answered, and its answer cannot be read, for this reason.
    Unreadable(String),
    /// The server may have done what was asked, or not.
    Lost {
        /// What became of the server, as `exited with status 1 during the call`.
        how: String,
        /// Its last lines on standard error, introduced; empty when it said nothing.
        said: String,
    },
}

impl Fault {
    /// Whether a server of an older revision says that it was spoken to in a newer one: it refuses what it was asked, and
    /// does nothing of it.
    pub(crate) fn is_of_another_era(&self) -> bool {
        match self {
            Self::Rpc(error) => error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
            Self::TurnedAway { kind, reason } => {
                *kind == ErrorKind::Unavailable && OLD_ANSWERS.iter().any(|answer| reason.contains(answer))
            }
            _ => false,
        }
    }

    pub(crate) fn reason(self) -> String {
        match self {
            Self::NotSent(reason)
            | Self::Unreadable(reason)
            | Self::SessionExpired(reason)
            | Self::TurnedAway { reason, .. }
            | Self::Lost { how: reason, .. } => reason,
            Self::Rpc(error) => error.message.into_owned(),
            Self::NoServer(error) => error.to_string(),
        }
    }
}

impl Session {
    /// A conversation that has just begun.
    pub(crate) fn new(
        target: String,
        service: RunningService<RoleClient, Client>,
        process: Option<Process>,
        classify: Classify,
        events: Arc<Events>,
    ) -> Self {
        let peer = service.peer().clone();
        Self {
            target,
            subscription: subscription::keep(&peer, &events),
            peer,
            service: Mutex::new(Some(service)),
            process,
            classify,
            events,
            ignores_discover: false,
            listed: RwLock::default(),
            listing: tokio::sync::Mutex::default(),
            lost: CancellationToken::new(),
            has_served: AtomicBool::new(false),
        }
    }

    /// Notes that a call was answered.
    pub(crate) fn note_service(&self) {
        self.has_served.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_served(&self) -> bool {
        self.has_served.load(Ordering::Relaxed)
    }

    /// How the process of the server ended; `None` where the server is no process of ours.
    pub(crate) fn end_of_process(&self) -> Option<Last> {
        let end = self.process.as_ref()?.end().clone();
        Some(Last::Ended { target: self.target.clone(), end })
    }

    /// Notes whether the server leaves those waiting who ask for its era, so that it is not asked the next time.
    pub(crate) fn with_silence(mut self, ignores_discover: bool) -> Self {
        self.ignores_discover = ignores_discover;
        self
    }

    pub(crate) fn ignores_discover(&self) -> bool {
        self.ignores_discover
    }

    /// Notes what the server listed in this session, and hands it back. `changes` is how many changes the server had told of when it was asked.
    pub(crate) fn set_digests(&self, digests: Digests, changes: u64) -> Arc<Digests> {
        let digests = Arc::new(digests);
        *self.listed.write().unwrap_or_else(PoisonError::into_inner) = Some((changes, Arc::clone(&digests)));
        digests
    }

    /// What the server listed in this session, unless it has told of a change since.
    pub(crate) fn digests(&self) -> Option<Arc<Digests>> {
        let listed = self.listed.read().unwrap_or_else(PoisonError::into_inner);
        let (changes, digests) = listed.as_ref()?;
        (*changes == self.events.changes().tools).then(|| Arc::clone(digests))
    }

    /// The right to fetch the list.
    pub(crate) async fn listing(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.listing.lock().await
    }

    /// What the server said of itself.
    pub(crate) fn server(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer.peer_info()
    }

    /// Whether the server is spoken to in revision 2026-07-28 or later.
    pub(crate) fn is_new_era(&self) -> bool {
        self.server().is_some_and(|server| !server.protocol_version.has_initialize())
    }

    /// Whether requests can still be sent.
    pub(crate) fn is_open(&self) -> bool {
        let ended = self.process.as_ref().is_some_and(Process::has_ended);
        !ended && !self.peer.is_transport_closed() && !self.lost.is_cancelled()
    }

    /// Comes back when the process has ended or the conversation was given up.
    pub(crate) async fn ended(&self) {
        let exited = async {
            match &self.process {
                Some(process) => _ = process.exited().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = exited => {}
            () = self.lost.cancelled() => {}
        }
    }

    /// Sends a request and waits for its answer. The listener is told of its progress. When the future is dropped the server
    /// is told, and nothing of the request stays behind.
    pub(crate) async fn request(
        self: &Arc<Self>,
        request: ClientRequest,
        listener: Option<Arc<dyn ProgressListener>>,
    ) -> Result<ServerResult, Fault> {
        if let Some(server) = self.peer.peer_info() {
            Span::current().record("mcp.protocol.version", server.protocol_version.as_str());
        }
        let sent = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let handle = sent.map_err(|error| Fault::NotSent(error.to_string()))?;
        let mut guard = CancelGuard { session: Arc::downgrade(self), request: Some(handle.id.clone()) };
        let _listening = Listening::new(&self.events, &handle.progress_token, listener);
        let answer = handle.await_response();
        tokio::pin!(answer);
        let outcome = tokio::select! {
            biased;
            outcome = &mut answer => Some(outcome),
            () = self.ended() => timeout(LAST_WORDS, answer).await.ok(),
        };
        guard.request = None;
        match outcome {
            Some(Ok(result)) => Ok(result),
            Some(Err(ServiceError::McpError(error))) => Err(match unreadable(&error) {
                Some(reason) => Fault::Unreadable(reason.to_owned()),
                None => Fault::Rpc(error),
            }),
            Some(Err(ServiceError::TransportSend(error))) => Err((self.classify)(&error)),
            Some(Err(_)) | None => Err(self.lost().await),
        }
    }

    /// How the server came to its end, as far as that can be told.
    async fn lost(&self) -> Fault {
        let Some(process) = &self.process else {
            return Fault::Lost { how: "broke off its answer".into(), said: String::new() };
        };
        let how = match timeout(EXIT_WAIT, process.exited()).await {
            Ok(status) => format!("{status} during the call"),
            Err(_) => "stopped talking during the call".into(),
        };
        Fault::Lost { how, said: process.last_words().await }
    }

    /// Tells the server that nobody waits any more for work that outlives its request, and waits for nothing.
    pub(crate) fn tell(self: &Arc<Self>, request: ClientRequest) {
        let (session, Ok(runtime)) = (Arc::clone(self), Handle::try_current()) else { return };
        runtime.spawn(async move {
            // Whether it heard is of no use to anybody.
            let _ = timeout(CANCEL_TIMEOUT, session.request(request, None)).await;
        });
    }

    /// Ends the conversation in order: input closed, then whatever the process needs to end.
    pub(crate) async fn close(&self) {
        if let Some(subscription) = &self.subscription {
            subscription.abort();
        }
        let service = self.service.lock().unwrap_or_else(PoisonError::into_inner).take();
        let farewell = async {
            if let Some(mut service) = service {
                // A server that does not read blocks this, hence the bound. How it failed is of no use to anybody.
                let _ = service.close_with_timeout(GOODBYE_TIMEOUT).await;
            }
        };
        let end = async {
            if let Some(process) = &self.process {
                process.close().await;
            }
        };
        tokio::join!(farewell, end);
    }
}

/// Hears of the progress of a request while it is there, if anybody wants to.
struct Listening<'a> {
    events: &'a Events,
    token: ProgressToken,
}

impl<'a> Listening<'a> {
    fn new(events: &'a Events, token: &ProgressToken, listener: Option<Arc<dyn ProgressListener>>) -> Self {
        if let Some(listener) = listener {
            events.listen(token.clone(), listener);
        }
        Self { events, token: token.clone() }
    }
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.events.forget(&self.token);
    }
}

/// Tells the server that nobody waits for a request any more.
struct CancelGuard {
    session: Weak<Session>,
    request: Option<RequestId>,
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        let (Some(id), Some(session), Ok(runtime)) =
            (self.request.take(), self.session.upgrade(), Handle::try_current())
        else {
            return;
        };
        let weak = Arc::downgrade(&session);
        let peer = session.peer.clone();
        runtime.spawn(async move {
            let reason = Some("the caller gave up".to_owned());
            let notified = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), reason));
            if timeout(CANCEL_TIMEOUT, notified).await.is_err()
                && let Some(session) = weak.upgrade()
            {
                tracing::warn!(target = %session.target, "MCP server does not read its input, giving it up");
                session.lost.cancel();
            }
        });
    }
}
