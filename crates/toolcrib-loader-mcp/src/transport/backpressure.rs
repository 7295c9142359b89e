//! Backpressure on servers that do not read the responses sent to them.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::Semaphore;

/// The number of unwritten responses at which reading stops. A server that reads has rarely more than one outstanding.
const MAX_UNWRITTEN: usize = 64;

/// A transport that stops reading while too many responses wait to be written. Without it, a server that sends requests
/// without end and reads nothing fills the memory with responses.
///
/// It is only for transports whose writes do not depend on reads.
pub(crate) struct Backpressure<T> {
    inner: T,
    /// One permit for each response being written. The semaphore is fair, so a reader acquires its permit after all
    /// responses that are already queued.
    permits: Arc<Semaphore>,
}

impl<T> Backpressure<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self { inner, permits: Arc::new(Semaphore::new(MAX_UNWRITTEN)) }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Backpressure<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let is_answer = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let permits = is_answer.then(|| Arc::clone(&self.permits));
        let written = self.inner.send(message);
        async move {
            let _place = match &permits {
                Some(permits) => permits.acquire().await.ok(),
                None => None,
            };
            written.await
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        drop(self.permits.acquire().await);
        self.inner.receive().await
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
