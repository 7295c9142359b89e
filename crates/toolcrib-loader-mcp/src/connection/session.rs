//! A session with a server, from its handshake to its end.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use rmcp::model::{
    CancelledNotificationParam, ClientRequest, ErrorCode, ErrorData, ProgressToken, RequestId,
    ServerPeerInfo, ServerResult, SubscriptionFilter,
};
use rmcp::service::{Peer, PeerRequestOptions, RunningService, Subscription};
use rmcp::{RoleClient, ServiceError};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use toolcrib_model::ErrorKind;
use toolcrib_port::ProgressListener;
use tracing::Span;

use crate::connection::backoff::FailureCause;
use crate::connection::client_handler::{ClientHandler, ServerEvents};
use crate::connection::subscription;
use crate::error::Error;
use crate::tools::digest::Digests;
use crate::transport::boxed::BoxedError;
use crate::transport::message_recovery::unreadable;
use crate::transport::process::{LAST_OUTPUT_WAIT, Process};

/// The time that a server which closed its output may take to exit, so that the error can contain its status.
pub(crate) const EXIT_WAIT: Duration = Duration::from_millis(500);

/// The time that a cancellation may take to be written. A server that reads nothing for this long is abandoned.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// The time for an orderly end of the session before the process is ended anyway.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The responses of Streamable HTTP servers with sessions to requests without a session.
const NO_SESSION_RESPONSES: &[&str] = &["HTTP 400", "HTTP 404", "HTTP 422"];

/// Classifies the error of a failed transmission. Each transport has its own classifier.
pub(crate) type Classify = Box<dyn Fn(&(dyn std::error::Error + 'static)) -> RequestError + Send + Sync>;

/// An open session with a server.
pub(crate) struct Session {
    target: String,
    peer: Peer<RoleClient>,
    service: Mutex<Option<RunningService<RoleClient, ClientHandler>>>,
    process: Option<Process>,
    classify: Classify,
    events: Arc<ServerEvents>,
    /// True if the server does not answer `server/discover` in time.
    ignores_discover: bool,
    /// The task that receives list changes, if the server sends them on a subscription.
    subscription: Option<AbortOnDropHandle<()>>,
    /// The tasks that receive changes of watched resources, if the server sends them on subscriptions.
    streams: Mutex<HashMap<String, AbortOnDropHandle<()>>>,
    /// The digests of the tools listed in this session, with the number of changes announced before that.
    listed: RwLock<Option<(u64, Arc<Digests>)>>,
    /// Held while the list is fetched, so that concurrent calls fetch it once.
    listing: tokio::sync::Mutex<()>,
    /// Cancelled when the session is abandoned although the server may still run.
    abandoned: CancellationToken,
    /// True if the server has answered a call.
    has_answered_call: AtomicBool,
}

/// The reason that a request has no response.
#[derive(Debug)]
pub(crate) enum RequestError {
    /// There is no server to send it to.
    NoServer(Error),
    /// The server never received the request, so sending it again does not repeat it.
    NotSent(String),
    /// The server does not know the session any more. By the protocol it has not processed the request.
    SessionExpired(String),
    /// The server rejected the request without processing it.
    Rejected {
        /// `Overloaded` or `Unavailable`.
        kind: ErrorKind,
        /// The server's reason.
        reason: String,
    },
    /// The server responded with an error of the protocol.
    Rpc(ErrorData),
    /// The response of the server is unreadable, for this reason.
    Unreadable(String),
    /// The server may or may not have processed the request.
    Lost {
        /// The end of the server, as `exited with status 1 during the call`.
        how: String,
        /// The last lines of standard error, introduced; may be empty.
        stderr: String,
    },
}

impl RequestError {
    /// Returns true if a server rejected the request, unprocessed, because it does not support the protocol revision of
    /// the session.
    pub(crate) fn is_revision_mismatch(&self) -> bool {
        match self {
            Self::Rpc(error) => error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
            Self::Rejected { kind, reason } => {
                *kind == ErrorKind::Unavailable
                    && NO_SESSION_RESPONSES.iter().any(|answer| reason.contains(answer))
            }
            _ => false,
        }
    }

    /// Returns the reason as a message.
    pub(crate) fn reason(self) -> String {
        match self {
            Self::NotSent(reason)
            | Self::Unreadable(reason)
            | Self::SessionExpired(reason)
            | Self::Rejected { reason, .. }
            | Self::Lost { how: reason, .. } => reason,
            Self::Rpc(error) => error.message.into_owned(),
            Self::NoServer(error) => error.to_string(),
        }
    }
}

impl Session {
    /// Creates a session after a successful handshake.
    pub(crate) fn new(
        target: String,
        service: RunningService<RoleClient, ClientHandler>,
        process: Option<Process>,
        classify: Classify,
        events: Arc<ServerEvents>,
    ) -> Self {
        let peer = service.peer().clone();
        Self {
            target,
            subscription: subscription::subscribe(&peer, &events),
            peer,
            service: Mutex::new(Some(service)),
            process,
            classify,
            events,
            ignores_discover: false,
            streams: Mutex::default(),
            listed: RwLock::default(),
            listing: tokio::sync::Mutex::default(),
            abandoned: CancellationToken::new(),
            has_answered_call: AtomicBool::new(false),
        }
    }

    /// Records that the server has answered a call.
    pub(crate) fn note_answered_call(&self) {
        self.has_answered_call.store(true, Ordering::Relaxed);
    }

    /// Returns true if the server has answered a call.
    pub(crate) fn has_answered_call(&self) -> bool {
        self.has_answered_call.load(Ordering::Relaxed)
    }

    /// Returns the exit of the server process as the cause of a failure; `None` if the server is not a child process.
    pub(crate) fn exit_cause(&self) -> Option<FailureCause> {
        let exit = self.process.as_ref()?.exit().clone();
        Some(FailureCause::Exited { target: self.target.clone(), exit })
    }

    /// Sets whether the server ignores `server/discover`, so that the next session does not send it.
    pub(crate) fn with_ignores_discover(mut self, ignores_discover: bool) -> Self {
        self.ignores_discover = ignores_discover;
        self
    }

    /// Returns true if the server does not answer `server/discover` in time.
    pub(crate) fn ignores_discover(&self) -> bool {
        self.ignores_discover
    }

    /// Stores the digests of the tools listed in this session, and returns them. `changes` is the number of changes
    /// that the server had announced when the request was sent.
    pub(crate) fn set_digests(&self, digests: Digests, changes: u64) -> Arc<Digests> {
        let digests = Arc::new(digests);
        *self.listed.write() = Some((changes, Arc::clone(&digests)));
        digests
    }

    /// Returns the digests of the tools listed in this session, unless the server has announced a change since.
    pub(crate) fn digests(&self) -> Option<Arc<Digests>> {
        let listed = self.listed.read();
        let (changes, digests) = listed.as_ref()?;
        (*changes == self.events.changes().tools).then(|| Arc::clone(digests))
    }

    /// Acquires the lock for fetching the tool list.
    pub(crate) async fn listing(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.listing.lock().await
    }

    /// Returns the server's description of itself.
    pub(crate) fn server(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer.peer_info()
    }

    /// Returns true if the session uses revision 2026-07-28 or later, which has no `initialize` handshake.
    pub(crate) fn has_no_handshake(&self) -> bool {
        self.server().is_some_and(|server| !server.protocol_version.has_initialize())
    }

    /// Opens a subscription of revision 2026-07-28.
    pub(crate) async fn listen(&self, filter: SubscriptionFilter) -> Result<Subscription, RequestError> {
        self.peer.listen(filter).await.map_err(|error| match error {
            ServiceError::McpError(error) => RequestError::Rpc(error),
            error => RequestError::NotSent(error.to_string()),
        })
    }

    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    pub(crate) fn events(&self) -> &Arc<ServerEvents> {
        &self.events
    }

    /// Adds the task that receives the changes of a resource. It ends with the session.
    pub(crate) fn add_stream(&self, uri: String, stream: AbortOnDropHandle<()>) {
        let replaced = self.streams.lock().insert(uri, stream);
        drop(replaced);
    }

    /// Ends the task that receives the changes of a resource.
    pub(crate) fn remove_stream(&self, uri: &str) {
        let removed = self.streams.lock().remove(uri);
        drop(removed);
    }

    /// Returns true if requests can still be sent.
    pub(crate) fn is_open(&self) -> bool {
        let ended = self.process.as_ref().is_some_and(Process::has_ended);
        !ended && !self.peer.is_transport_closed() && !self.abandoned.is_cancelled()
    }

    /// Waits until the process has exited or the session was abandoned.
    pub(crate) async fn ended(&self) {
        let exited = async {
            match &self.process {
                Some(process) => _ = process.exited().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = exited => {}
            () = self.abandoned.cancelled() => {}
        }
    }

    /// Sends a request and waits for its response. The listener receives its progress. If the future is dropped, the
    /// server is notified of the cancellation, and all state of the request is removed.
    pub(crate) async fn request(
        self: &Arc<Self>,
        request: ClientRequest,
        listener: Option<Arc<dyn ProgressListener>>,
    ) -> Result<ServerResult, RequestError> {
        if let Some(server) = self.peer.peer_info() {
            Span::current().record("mcp.protocol.version", server.protocol_version.as_str());
        }
        let sent = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let handle = sent.map_err(|error| RequestError::NotSent(error.to_string()))?;
        let mut guard = CancelGuard { session: Arc::downgrade(self), request: Some(handle.id.clone()) };
        let _registration = ProgressRegistration::new(&self.events, &handle.progress_token, listener);
        let answer = handle.await_response();
        tokio::pin!(answer);
        let outcome = tokio::select! {
            biased;
            outcome = &mut answer => Some(outcome),
            () = self.ended() => timeout(LAST_OUTPUT_WAIT, answer).await.ok(),
        };
        guard.request = None;
        match outcome {
            Some(Ok(result)) => Ok(result),
            Some(Err(ServiceError::McpError(error))) => Err(match unreadable(&error) {
                Some(reason) => RequestError::Unreadable(reason.to_owned()),
                None => RequestError::Rpc(error),
            }),
            Some(Err(ServiceError::TransportSend(error))) => {
                Err((self.classify)(BoxedError::original(&error)))
            }
            Some(Err(_)) | None => Err(self.lost_response().await),
        }
    }

    /// Returns the error for a lost response, with the exit status of the server if it is known.
    async fn lost_response(&self) -> RequestError {
        let Some(process) = &self.process else {
            return RequestError::Lost { how: "broke off its answer".into(), stderr: String::new() };
        };
        let how = match timeout(EXIT_WAIT, process.exited()).await {
            Ok(status) => format!("{status} during the call"),
            Err(_) => "stopped talking during the call".into(),
        };
        RequestError::Lost { how, stderr: process.last_output().await }
    }

    /// Sends a request in the background, and ignores its response. It cancels work on the server that outlives its
    /// request.
    pub(crate) fn send_in_background(self: &Arc<Self>, request: ClientRequest) {
        let (session, Ok(runtime)) = (Arc::clone(self), Handle::try_current()) else { return };
        runtime.spawn(async move {
            // The work is abandoned, regardless of whether the server has received this.
            let _ = timeout(CANCEL_TIMEOUT, session.request(request, None)).await;
        });
    }

    /// Closes the session in order: first the input, then the process.
    pub(crate) async fn close(&self) {
        if let Some(subscription) = &self.subscription {
            subscription.abort();
        }
        self.streams.lock().clear();
        let service = self.service.lock().take();
        let farewell = async {
            if let Some(mut service) = service {
                // A server that does not read blocks this, hence the timeout. An error changes nothing here.
                let _ = service.close_with_timeout(CLOSE_TIMEOUT).await;
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

/// The registration of a progress listener, which ends when it is dropped.
struct ProgressRegistration<'a> {
    events: &'a ServerEvents,
    token: ProgressToken,
}

impl<'a> ProgressRegistration<'a> {
    fn new(
        events: &'a ServerEvents,
        token: &ProgressToken,
        listener: Option<Arc<dyn ProgressListener>>,
    ) -> Self {
        if let Some(listener) = listener {
            events.listen(token.clone(), listener);
        }
        Self { events, token: token.clone() }
    }
}

impl Drop for ProgressRegistration<'_> {
    fn drop(&mut self) {
        self.events.forget(&self.token);
    }
}

/// A guard that sends a cancellation when its request is dropped unfinished.
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
                session.abandoned.cancel();
            }
        });
    }
}
