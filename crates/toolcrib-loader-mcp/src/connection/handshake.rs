//! The handshake that opens a session.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, serve_client_with_lifecycle};
use tokio::time::{Instant, sleep_until, timeout};
use toolcrib_model::ErrorKind;

use crate::connection::client_handler::{ClientHandler, ServerEvents};
use crate::connection::discover_probe::{DiscoverProbe, ProbeStatus};
use crate::connection::ordered_progress::OrderedProgress;
use crate::connection::session::{Classify, EXIT_WAIT, RequestError, Session};
use crate::error::{Error, chain};
use crate::transport::boxed::{BoxedError, BoxedTransport};
use crate::transport::process::{LAST_OUTPUT_WAIT, Process};

/// The handshake to perform, and with it the protocol revisions to offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandshakeMode {
    /// Revision 2026-07-28, which has no `initialize` handshake; an older one if the server does not know
    /// `server/discover`.
    Auto,
    /// Revision 2026-07-28 only. The response to `server/discover` may take as long as the startup timeout allows.
    Discover,
    /// Revision 2025-11-25 or older, by the `initialize` handshake.
    Initialize,
}

/// The parameters of a handshake other than the transport.
pub(crate) struct HandshakeOptions {
    pub(crate) target: String,
    pub(crate) mode: HandshakeMode,
    /// The time that the server has to start, and the instant at which it has passed.
    pub(crate) startup_timeout: Duration,
    pub(crate) deadline: Instant,
    pub(crate) events: Arc<ServerEvents>,
}

/// The error of a failed handshake.
pub(crate) struct HandshakeError {
    pub(crate) error: Error,
    pub(crate) fallback: Option<Fallback>,
}

/// The handshakes that may succeed with a server that responded, but did not complete this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fallback {
    /// `server/discover`: the server knows it, and answered too late.
    Discover,
    /// Any: the revisions of the server are unknown.
    Any,
}

impl From<Error> for HandshakeError {
    fn from(error: Error) -> Self {
        Self { error, fallback: None }
    }
}

/// Performs the handshake over a transport.
pub(crate) async fn open_session(
    options: HandshakeOptions,
    transport: BoxedTransport,
    process: Option<Process>,
    classify: Classify,
) -> Result<Session, HandshakeError> {
    let HandshakeOptions { target, mode, startup_timeout, deadline, events } = options;
    let exited = async {
        match &process {
            Some(process) => process.exited().await,
            None => std::future::pending().await,
        }
    };
    let last_output = async || match &process {
        Some(process) => process.last_output().await,
        None => String::new(),
    };
    let probe_status = Arc::new(ProbeStatus::default());
    let transport = OrderedProgress::new(transport, Arc::clone(&events));
    let transport = match mode {
        HandshakeMode::Discover => DiscoverProbe::without_timeout(transport),
        _ => DiscoverProbe::new(transport, startup_timeout, Arc::clone(&probe_status)),
    };
    let handshake =
        serve_client_with_lifecycle(ClientHandler::new(Arc::clone(&events)), transport, mode.lifecycle());
    tokio::pin!(handshake);
    let exit = |status, stderr| HandshakeError {
        error: Error::Exited { target: target.clone(), status, stderr },
        // It may have exited because of an unknown request.
        fallback: (mode == HandshakeMode::Auto).then_some(Fallback::Any),
    };
    let outcome = tokio::select! {
        biased;
        outcome = &mut handshake => outcome,
        status = exited => match timeout(LAST_OUTPUT_WAIT, handshake).await {
            Ok(Ok(service)) => Ok(service),
            _ => return Err(exit(status, last_output().await)),
        },
        () = sleep_until(deadline) => {
            let stderr = last_output().await;
            return Err(Error::HandshakeTimeout { target, timeout: startup_timeout, stderr }.into());
        }
    };
    let error = match outcome {
        Ok(service) => {
            let is_silent = probe_status.timed_out() || mode == HandshakeMode::Initialize;
            return Ok(
                Session::new(target, service, process, classify, events).with_ignores_discover(is_silent)
            );
        }
        Err(error) => error,
    };
    // A process that is about to exit closes its pipes first.
    if let Some(process) = &process
        && let Ok(status) = timeout(EXIT_WAIT, process.exited()).await
    {
        return Err(exit(status, process.last_output().await));
    }
    let error = last_error(&error);
    let fault = match error {
        ClientInitializeError::TransportError { error, .. } => Some(classify(BoxedError::original(error))),
        _ => None,
    };
    let is_misunderstanding = !error.is_authorization_required()
        && match &fault {
            // The server responded to this handshake with an error that another one may avoid.
            Some(RequestError::Rejected { kind: ErrorKind::Unavailable, .. } | RequestError::Lost { .. })
            | None => true,
            Some(_) => false,
        };
    let fallback = is_misunderstanding
        .then(|| if probe_status.answered_late() { Fallback::Discover } else { Fallback::Any });
    let reason = match (fault, error) {
        // An error of this client that prevented the request, such as a missing login.
        (Some(RequestError::NoServer(refused)), _) => return Err(refused.into()),
        (Some(fault), _) => fault.reason(),
        (None, ClientInitializeError::ConnectionClosed(_)) => "it closed the connection".into(),
        (None, other) => chain(other),
    };
    Err(HandshakeError { error: Error::Handshake { target, reason, stderr: last_output().await }, fallback })
}

impl HandshakeMode {
    fn lifecycle(self) -> ClientLifecycleMode {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        match self {
            Self::Auto => ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
            Self::Discover => ClientLifecycleMode::Discover { preferred_versions },
            Self::Initialize => ClientLifecycleMode::Initialize,
        }
    }
}

/// Returns the last error: if the `initialize` handshake was the fallback, its error.
fn last_error(error: &ClientInitializeError) -> &ClientInitializeError {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => last_error(fallback),
        error => error,
    }
}
