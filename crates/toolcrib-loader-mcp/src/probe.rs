//! Asking a server which era it is of, without waiting for one that does not say.

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

/// The longest that a server may take to answer `server/discover` before it is taken for one that does not know it. One
/// that is slow to start is greeted with `initialize` then, which servers of both eras may answer.
const MAX_PROBE: Duration = Duration::from_secs(10);

/// A transport that answers `server/discover` itself, with an error, when the server does not, or says nothing to the point:
/// some old servers pass over what they do not know. The handshake then goes on over the same transport.
pub(crate) struct Probe<T> {
    inner: T,
    /// How long to wait; `None` for as long as it takes.
    wait: Option<Duration>,
    question: Question,
    silence: Arc<Silence>,
}

/// What is known of a server that did not answer in time.
#[derive(Debug, Default)]
pub(crate) struct Silence {
    gave_up: AtomicBool,
    answered_late: AtomicBool,
}

impl Silence {
    /// Whether the question was given up.
    pub(crate) fn gave_up(&self) -> bool {
        self.gave_up.load(Ordering::Relaxed)
    }

    /// Whether an answer came after that, which was none of an error.
    pub(crate) fn answered_late(&self) -> bool {
        self.answered_late.load(Ordering::Relaxed)
    }
}

enum Question {
    None,
    Asked {
        id: RequestId,
        /// `None`: for as long as it takes.
        until: Option<Instant>,
    },
    /// Its answer, should there be one, comes too late.
    GivenUp(RequestId),
}

impl<T> Probe<T> {
    /// Waits for the answer for half of the time that a server has to start, and for [`MAX_PROBE`] at most.
    pub(crate) fn new(inner: T, startup_timeout: Duration, silence: Arc<Silence>) -> Self {
        let wait = Some(MAX_PROBE.min(startup_timeout / 2));
        Self { inner, wait, question: Question::None, silence }
    }

    /// Waits for the answer for as long as it takes.
    pub(crate) fn patient(inner: T) -> Self {
        Self { inner, wait: None, question: Question::None, silence: Arc::default() }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Probe<T> {
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
            let until = self.wait.map(|wait| Instant::now() + wait);
            self.question = Question::Asked { id: request.id.clone(), until };
        }
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let Question::Asked { id, until } = &self.question else {
                let message = self.inner.receive().await?;
                if let Question::GivenUp(id) = &self.question
                    && answered(&message) == Some(id)
                {
                    let is_answer = matches!(message, JsonRpcMessage::Response(_));
                    self.silence.answered_late.fetch_or(is_answer, Ordering::Relaxed);
                    continue;
                }
                return Some(message);
            };
            let (id, until) = (id.clone(), *until);
            tokio::select! {
                biased;
                message = self.inner.receive() => {
                    let message = message?;
                    if answered(&message) != Some(&id) {
                        return Some(message);
                    }
                    self.question = Question::None;
                    return Some(match message {
                        // An old server that answers anything with nothing.
                        JsonRpcMessage::Response(response)
                            if !matches!(response.result, ServerResult::DiscoverResult(_)) => unknown(id),
                        message => message,
                    });
                }
                () = passed(until) => {
                    self.silence.gave_up.store(true, Ordering::Relaxed);
                    self.question = Question::GivenUp(id.clone());
                    return Some(unknown(id));
                }
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

/// The answer of a server that does not know the question.
fn unknown(id: RequestId) -> ServerJsonRpcMessage {
    let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "`server/discover` is not known", None);
    ServerJsonRpcMessage::error(error, Some(id))
}

async fn passed(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// The request that a message answers.
fn answered(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}
