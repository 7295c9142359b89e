//! Serving one client over a pair of streams.

mod transport;

use std::sync::Arc;

use rmcp::service::{ServerInitializeError, serve_server_with_ct};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::protocol::handler::Handler;
use crate::{Error, Server};

impl Server {
    /// Serves standard input and output until the client closes them.
    pub async fn serve_stdio(&self) -> Result<(), Error> {
        let (reader, writer) = rmcp::transport::stdio_pipes();
        Box::pin(self.serve(reader, writer)).await
    }

    /// Serves a pair of streams with one JSON-RPC message per line, until the reader ends.
    pub async fn serve<R, W>(&self, reader: R, writer: W) -> Result<(), Error>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let handler = Handler::over_connection(Arc::clone(&self.shared));
        let transport = transport::LineTransport::new(reader, writer);
        let running = match serve_server_with_ct(handler, transport, self.shared.closing.child_token()).await
        {
            Ok(running) => running,
            // A client may end the connection before it has sent a message.
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                return Ok(());
            }
            Err(error) => return Err(Error::Handshake { message: error.to_string() }),
        };
        running.waiting().await.map(drop).map_err(|error| Error::Broken { message: error.to_string() })
    }
}
