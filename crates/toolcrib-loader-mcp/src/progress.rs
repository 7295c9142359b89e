//! Progress in the order in which a server tells it.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, GetMeta as _, JsonRpcMessage, ServerJsonRpcMessage, ServerNotification,
};
use rmcp::transport::Transport;

use crate::handler::Events;

/// A transport that passes progress on while it reads. rmcp handles each notification in a task of its own, so that what a
/// server tells right before its answer could come after it, when there is no listener any more.
pub(crate) struct OrderedProgress<T> {
    inner: T,
    events: Arc<Events>,
}

impl<T> OrderedProgress<T> {
    pub(crate) fn new(inner: T, events: Arc<Events>) -> Self {
        Self { inner, events }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for OrderedProgress<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &message
            && let Some(token) = request.request.get_meta().get_progress_token()
        {
            self.events.expect(token);
        }
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let message = self.inner.receive().await?;
            let JsonRpcMessage::Notification(told) = message else { return Some(message) };
            match told.notification {
                ServerNotification::ProgressNotification(progress) => self.events.progress(progress.params),
                _ => return Some(JsonRpcMessage::Notification(told)),
            }
            // A server that reports progress without end must not keep the timer of the handshake from its turn.
            tokio::task::yield_now().await;
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
