//! One life of a server: from its handshake to its end.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use rmcp::model::{CancelledNotificationParam, ClientRequest, ErrorData, RequestId, ServerResult};
use rmcp::service::{ClientInitializeError, Peer, PeerRequestOptions, RunningService, serve_client};
use rmcp::transport::{DynamicTransportError, IntoTransport};
use rmcp::{RoleClient, ServiceError};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use toolcrib_model::ErrorKind;
use tracing::Span;

use crate::error::{Error, chain};
use crate::handler::Client;
use crate::stdio::Process;

/// How long what a server wrote before it ended may take to arrive. Its descendants can hold the pipe open, so the end
/// of the pipe cannot be waited for.
pub(crate) const LAST_WORDS: Duration = Duration::from_millis(250);

/// How long a server that closed its output may take to end, so that the error can say how it did.
const EXIT_WAIT: Duration = Duration::from_millis(500);

/// How long a cancellation may take to be written. A server that has stopped reading for so long is given up.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an ordered end of the conversation may take before the process is ended anyway.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(2);

/// Tells what a failed transmission means. The transport knows.
pub(crate) type Classify = Box<dyn Fn(&DynamicTransportError) -> Fault + Send + Sync>;

/// A running conversation with a server.
pub(crate) struct Session {
    target: String,
    peer: Peer<RoleClient>,
    service: Mutex<Option<RunningService<RoleClient, Client>>>,
    process: Option<Process>,
    classify: Classify,
    /// Set when the conversation is given up although the server may still run.
    lost: CancellationToken,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) enum Fault {
    /// There is no server to send it to.
    NoServer(Error),
    /// The server never saw the request, so that sending it again does not do it twice.
    NotSent(String),
    /// The server turned the request away without looking into it.
    TurnedAway {
        /// Overloaded or unavailable.
        kind: ErrorKind,
        /// What it said.
        reason: String,
    },
    /// The server answered with an error of the protocol.
    Rpc(ErrorData),
    /// The server may have done what was asked, or not.
    Lost {
        /// What became of the server, as `exited with status 1 during the call`.
        how: String,
        /// Its last lines on standard error, introduced; empty when it said nothing.
        said: String,
    },
}

impl Fault {
    fn reason(self) -> String {
        match self {
            Self::NotSent(reason) | Self::TurnedAway { reason, .. } | Self::Lost { how: reason, .. } => {
                reason
            }
            Self::Rpc(error) => error.message.into_owned(),
            Self::NoServer(error) => error.to_string(),
        }
    }
}

impl Session {
    /// Shakes hands over a transport.
    pub(crate) async fn open<T, E, A>(
        target: String,
        transport: T,
        process: Option<Process>,
        classify: Classify,
        startup_timeout: Duration,
    ) -> Result<Self, Error>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let exited = async {
            match &process {
                Some(process) => process.exited().await,
                None => std::future::pending().await,
            }
        };
        let last_words = async || match &process {
            Some(process) => process.last_words().await,
            None => String::new(),
        };
        let handshake = serve_client(Client, transport);
        tokio::pin!(handshake);
        let outcome = tokio::select! {
            biased;
            outcome = &mut handshake => outcome,
            status = exited => match timeout(LAST_WORDS, handshake).await {
                Ok(Ok(service)) => Ok(service),
                _ => return Err(Error::Exited { target, status, said: last_words().await }),
            },
            () = tokio::time::sleep(startup_timeout) => {
                return Err(Error::Silent { target, timeout: startup_timeout, said: last_words().await });
            }
        };
        match outcome {
            Ok(service) => Ok(Self {
                target,
                peer: service.peer().clone(),
                service: Mutex::new(Some(service)),
                process,
                classify,
                lost: CancellationToken::new(),
            }),
            Err(error) => {
                // A process that is about to exit closes its pipes first.
                if let Some(process) = &process
                    && let Ok(status) = timeout(EXIT_WAIT, process.exited()).await
                {
                    return Err(Error::Exited { target, status, said: process.last_words().await });
                }
                Err(Error::Handshake {
                    target,
                    reason: handshake_reason(&error, &classify),
                    said: last_words().await,
                })
            }
        }
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

    /// Sends a request and waits for its answer. When the future is dropped the server is told, and nothing of the
    /// request stays behind.
    pub(crate) async fn request(self: &Arc<Self>, request: ClientRequest) -> Result<ServerResult, Fault> {
        if let Some(server) = self.peer.peer_info() {
            Span::current().record("mcp.protocol.version", server.protocol_version.as_str());
        }
        let sent = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let handle = sent.map_err(|error| Fault::NotSent(error.to_string()))?;
        let mut guard = CancelGuard { session: Arc::downgrade(self), request: Some(handle.id.clone()) };
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
            Some(Err(ServiceError::McpError(error))) => Err(Fault::Rpc(error)),
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

    /// Ends the conversation in order: input closed, then whatever the process needs to end.
    pub(crate) async fn close(&self) {
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

fn handshake_reason(error: &ClientInitializeError, classify: &Classify) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => classify(error).reason(),
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection".into(),
        other => chain(other),
    }
}
