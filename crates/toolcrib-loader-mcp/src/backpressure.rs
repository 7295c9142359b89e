//! A server that does not read our answers is not read either.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::Semaphore;

/// How many answers may wait to be written before no more is read. A server that reads has hardly ever more than one of
/// them before it.
const MAX_UNWRITTEN: usize = 64;

/// A transport that stops reading while too many answers wait. Without it, a server that asks without end and reads
/// nothing fills the memory with answers.
///
/// It is for transports whose writing does not depend on their being read.
pub(crate) struct Backpressure<T> {
    inner: T,
    /// One for each answer that is being written. It serves in the order of asking: whoever waits to read comes after all
    /// answers that there are.
    places: Arc<Semaphore>,
}

impl<T> Backpressure<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self { inner, places: Arc::new(Semaphore::new(MAX_UNWRITTEN)) }
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
        let places = is_answer.then(|| Arc::clone(&self.places));
        let written = self.inner.send(message);
        async move {
            let _place = match &places {
                Some(places) => places.acquire().await.ok(),
                None => None,
            };
            written.await
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        drop(self.places.acquire().await);
        self.inner.receive().await
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
