//! How a conversation with a server begins.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, serve_client_with_lifecycle};
use rmcp::transport::Transport;
use tokio::time::{Instant, sleep_until, timeout};
use toolcrib_model::ErrorKind;

use crate::error::{Error, chain};
use crate::handler::{Client, Events};
use crate::probe::{Probe, Silence};
use crate::progress::OrderedProgress;
use crate::session::{Classify, EXIT_WAIT, Fault, LAST_WORDS, Session};
use crate::stdio::Process;

/// With which revisions the conversation is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// Revision 2026-07-28, which has no handshake; or an older one, where the server does not know `server/discover`.
    Any,
    /// Revision 2026-07-28, whose answer may take its time.
    Discover,
    /// Revision 2025-11-25 or older, by the `initialize` handshake.
    Initialize,
}

/// What opening a session needs to know besides the transport.
pub(crate) struct Opening {
    pub(crate) target: String,
    pub(crate) era: Era,
    /// How long the server may take to start, and when that is over.
    pub(crate) startup_timeout: Duration,
    pub(crate) deadline: Instant,
    pub(crate) events: Arc<Events>,
}

/// Why a session did not open.
pub(crate) struct Unopened {
    pub(crate) error: Error,
    pub(crate) misunderstanding: Option<Misunderstanding>,
}

/// Somebody is there, who may understand another way of beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misunderstanding {
    /// It knows `server/discover`, and was too slow to say so.
    KnowsDiscover,
    /// What it knows is not known.
    Unknown,
}

impl From<Error> for Unopened {
    fn from(error: Error) -> Self {
        Self { error, misunderstanding: None }
    }
}

/// Shakes hands over a transport.
pub(crate) async fn shake_hands<T>(
    opening: Opening,
    transport: T,
    process: Option<Process>,
    classify: Classify,
) -> Result<Session, Unopened>
where
    T: Transport<RoleClient> + 'static,
{
    let Opening { target, era, startup_timeout, deadline, events } = opening;
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
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match era {
        Era::Any => ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
        Era::Discover => ClientLifecycleMode::Discover { preferred_versions },
        Era::Initialize => ClientLifecycleMode::Initialize,
    };
    let silence = Arc::new(Silence::default());
    let transport = OrderedProgress::new(transport, Arc::clone(&events));
    let transport = match era {
        Era::Discover => Probe::patient(transport),
        _ => Probe::new(transport, startup_timeout, Arc::clone(&silence)),
    };
    let handshake = serve_client_with_lifecycle(Client::new(Arc::clone(&events)), transport, lifecycle);
    tokio::pin!(handshake);
    let exit = |status, said| Unopened {
        error: Error::Exited { target: target.clone(), status, said },
        // It may have ended because of a question that it does not know.
        misunderstanding: (era == Era::Any).then_some(Misunderstanding::Unknown),
    };
    let outcome = tokio::select! {
        biased;
        outcome = &mut handshake => outcome,
        status = exited => match timeout(LAST_WORDS, handshake).await {
            Ok(Ok(service)) => Ok(service),
            _ => return Err(exit(status, last_words().await)),
        },
        () = sleep_until(deadline) => {
            let said = last_words().await;
            return Err(Error::Silent { target, timeout: startup_timeout, said }.into());
        }
    };
    let error = match outcome {
        Ok(service) => {
            let is_silent = silence.gave_up() || era == Era::Initialize;
            return Ok(Session::new(target, service, process, classify, events).with_silence(is_silent));
        }
        Err(error) => error,
    };
    // A process that is about to exit closes its pipes first.
    if let Some(process) = &process
        && let Ok(status) = timeout(EXIT_WAIT, process.exited()).await
    {
        return Err(exit(status, process.last_words().await));
    }
    let error = last(&error);
    let fault = match error {
        ClientInitializeError::TransportError { error, .. } => Some(classify(error)),
        _ => None,
    };
    let is_misunderstanding = !error.is_authorization_required()
        && match &fault {
            // Somebody is there, and answered what another way of beginning might not have led to.
            Some(Fault::TurnedAway { kind: ErrorKind::Unavailable, .. } | Fault::Lost { .. }) | None => true,
            Some(_) => false,
        };
    let misunderstanding = is_misunderstanding.then(|| {
        if silence.answered_late() { Misunderstanding::KnowsDiscover } else { Misunderstanding::Unknown }
    });
    let reason = match (fault, error) {
        // An error of ours that kept us from asking, such as that nobody has logged in.
        (Some(Fault::NoServer(refused)), _) => return Err(refused.into()),
        (Some(fault), _) => fault.reason(),
        (None, ClientInitializeError::ConnectionClosed(_)) => "it closed the connection".into(),
        (None, other) => chain(other),
    };
    Err(Unopened { error: Error::Handshake { target, reason, said: last_words().await }, misunderstanding })
}

/// What went wrong last: where a server was greeted in the old way after the new one, that.
fn last(error: &ClientInitializeError) -> &ClientInitializeError {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => last(fallback),
        error => error,
    }
}
