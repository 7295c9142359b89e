//! A transport behind a pointer.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use futures::future::{BoxFuture, FutureExt};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::{DynamicTransportError, Transport};

/// A transport of any type. The client of rmcp is generic over its transport; behind this type it is compiled once
/// instead of once for each transport.
pub(crate) struct BoxedTransport(Box<dyn DynTransport>);

impl BoxedTransport {
    pub(crate) fn new(transport: impl Transport<RoleClient> + 'static) -> Self {
        Self(Box::new(transport))
    }
}

/// The methods of [`Transport`] with boxed futures.
trait DynTransport: Send {
    fn send(&mut self, message: ClientJsonRpcMessage) -> BoxFuture<'static, Result<(), BoxedError>>;
    fn receive(&mut self) -> BoxFuture<'_, Option<ServerJsonRpcMessage>>;
    fn close(&mut self) -> BoxFuture<'_, Result<(), BoxedError>>;
}

impl<T: Transport<RoleClient>> DynTransport for T {
    fn send(&mut self, message: ClientJsonRpcMessage) -> BoxFuture<'static, Result<(), BoxedError>> {
        Transport::send(self, message).map(|sent| sent.map_err(BoxedError::new)).boxed()
    }

    fn receive(&mut self) -> BoxFuture<'_, Option<ServerJsonRpcMessage>> {
        Transport::receive(self).boxed()
    }

    fn close(&mut self) -> BoxFuture<'_, Result<(), BoxedError>> {
        Transport::close(self).map(|closed| closed.map_err(BoxedError::new)).boxed()
    }
}

impl Transport<RoleClient> for BoxedTransport {
    type Error = BoxedError;

    fn name() -> Cow<'static, str> {
        "boxed".into()
    }

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.0.send(message)
    }

    fn receive(&mut self) -> impl Future<Output = Option<ServerJsonRpcMessage>> + Send {
        self.0.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.0.close()
    }
}

/// The error of a [`BoxedTransport`], with the text and the source of the original.
#[derive(Debug)]
pub(crate) struct BoxedError(Box<dyn Error + Send + Sync>);

impl BoxedError {
    fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }

    /// Returns the error of the original transport inside an error of rmcp.
    pub(crate) fn original(error: &DynamicTransportError) -> &(dyn Error + 'static) {
        match error.error.downcast_ref::<Self>() {
            Some(boxed) => boxed.0.as_ref(),
            None => error.error.as_ref(),
        }
    }
}

impl fmt::Display for BoxedError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Error for BoxedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
