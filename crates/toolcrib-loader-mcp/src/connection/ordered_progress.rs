//! Progress notifications, delivered in the order in which the server sends them.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, GetMeta as _, JsonRpcMessage, ServerJsonRpcMessage, ServerNotification,
};
use rmcp::transport::Transport;

use crate::connection::client_handler::ServerEvents;

/// A transport that delivers progress while it reads. rmcp handles each notification in a separate task, so progress
/// that a server sends right before its response could arrive after it, when the listener is gone.
pub(crate) struct OrderedProgress<T> {
    inner: T,
    events: Arc<ServerEvents>,
}

impl<T> OrderedProgress<T> {
    pub(crate) fn new(inner: T, events: Arc<ServerEvents>) -> Self {
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
            let JsonRpcMessage::Notification(message) = message else { return Some(message) };
            match message.notification {
                ServerNotification::ProgressNotification(progress) => self.events.progress(progress.params),
                _ => return Some(JsonRpcMessage::Notification(message)),
            }
            // A server that reports progress without end must not starve the timeout of the handshake.
            tokio::task::yield_now().await;
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
