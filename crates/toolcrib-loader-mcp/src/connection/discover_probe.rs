//! The `server/discover` probe, with a timeout for servers that do not answer it.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::Transport;
use tokio::time::{Instant, sleep_until};

/// The longest wait for the response to `server/discover`. After that the server counts as one that does not know the
/// method. A server that starts slowly then gets `initialize`, which servers of all revisions may answer.
const MAX_PROBE: Duration = Duration::from_secs(10);

/// A transport that answers `server/discover` with an error if the server sends no response, or a meaningless one: some
/// old servers ignore unknown methods. The handshake then continues with `initialize` over the same transport.
pub(crate) struct DiscoverProbe<T> {
    inner: T,
    /// The time to wait for the response; `None` for no timeout.
    wait: Option<Duration>,
    state: ProbeState,
    probe_status: Arc<ProbeStatus>,
}

/// The observations about a server that did not answer in time.
#[derive(Debug, Default)]
pub(crate) struct ProbeStatus {
    timed_out: AtomicBool,
    answered_late: AtomicBool,
}

impl ProbeStatus {
    /// Returns true if the probe timed out.
    pub(crate) fn timed_out(&self) -> bool {
        self.timed_out.load(Ordering::Relaxed)
    }

    /// Returns true if a successful response arrived after the timeout.
    pub(crate) fn answered_late(&self) -> bool {
        self.answered_late.load(Ordering::Relaxed)
    }
}

enum ProbeState {
    Idle,
    Pending {
        id: RequestId,
        /// `None` for no timeout.
        deadline: Option<Instant>,
    },
    /// The probe timed out. Its response, if any, is dropped.
    TimedOut(RequestId),
}

impl<T> DiscoverProbe<T> {
    /// Creates a probe that waits for half of the startup timeout, and for [`MAX_PROBE`] at most.
    pub(crate) fn new(inner: T, startup_timeout: Duration, probe_status: Arc<ProbeStatus>) -> Self {
        let wait = Some(MAX_PROBE.min(startup_timeout / 2));
        Self { inner, wait, state: ProbeState::Idle, probe_status }
    }

    /// Creates a probe without a timeout.
    pub(crate) fn without_timeout(inner: T) -> Self {
        Self { inner, wait: None, state: ProbeState::Idle, probe_status: Arc::default() }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for DiscoverProbe<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &message
            && let ClientRequest::DiscoverRequest(_) = request.request
        {
            let deadline = self.wait.map(|wait| Instant::now() + wait);
            self.state = ProbeState::Pending { id: request.id.clone(), deadline };
        }
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let ProbeState::Pending { id, deadline } = &self.state else {
                let message = self.inner.receive().await?;
                if let ProbeState::TimedOut(id) = &self.state
                    && answered_id(&message) == Some(id)
                {
                    let is_answer = matches!(message, JsonRpcMessage::Response(_));
                    self.probe_status.answered_late.fetch_or(is_answer, Ordering::Relaxed);
                    continue;
                }
                return Some(message);
            };
            let (id, deadline) = (id.clone(), *deadline);
            tokio::select! {
                biased;
                message = self.inner.receive() => {
                    let message = message?;
                    if answered_id(&message) != Some(&id) {
                        return Some(message);
                    }
                    self.state = ProbeState::Idle;
                    return Some(match message {
                        // An old server that answers any method with an empty result.
                        JsonRpcMessage::Response(response)
                            if !matches!(response.result, ServerResult::DiscoverResult(_)) => method_not_found(id),
                        message => message,
                    });
                }
                () = passed(deadline) => {
                    self.probe_status.timed_out.store(true, Ordering::Relaxed);
                    self.state = ProbeState::TimedOut(id.clone());
                    return Some(method_not_found(id));
                }
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

/// Returns the response of a server that does not know the method.
fn method_not_found(id: RequestId) -> ServerJsonRpcMessage {
    let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "`server/discover` is not known", None);
    ServerJsonRpcMessage::error(error, Some(id))
}

async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Returns the id of the request that a message answers.
fn answered_id(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}
