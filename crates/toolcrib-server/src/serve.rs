//! Serving until the client hangs up.

use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWrite};
use toolcrib_runtime::Runtime;

use crate::Error;
use crate::handler::Handler;

/// Serves on standard input and output until the client closes them.
pub async fn serve_stdio(runtime: Arc<Runtime>) -> Result<(), Error> {
    let (reader, writer) = rmcp::transport::stdio_pipes();
    serve(runtime, reader, writer).await
}

/// Serves on any pair of streams, one JSON-RPC message on each line, until the reader ends.
pub async fn serve<R, W>(runtime: Arc<Runtime>, reader: R, writer: W) -> Result<(), Error>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let running = match Handler::new(runtime).serve((reader, writer)).await {
        Ok(running) => running,
        // A client that leaves before it has said anything has ended the connection as it may.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(Error::Handshake { message: error.to_string() }),
    };
    running.waiting().await.map(drop).map_err(|error| Error::Broken { message: error.to_string() })
}
