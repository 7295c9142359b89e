//! A transport over the pipes of a child process, with one message on each line.

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader, Empty, empty};

use crate::transport::message_recovery::PendingRequests;

/// A transport over two pipes. rmcp does the writing. Lines are read here, because rmcp skips those that it cannot
/// parse, and leaves their requests waiting.
pub(crate) struct PipeTransport<R, W: AsyncWrite> {
    reader: BufReader<R>,
    /// The part of the next line that has arrived. It is stored here because the receiving future may be dropped.
    line: Vec<u8>,
    writer: AsyncRwTransport<RoleClient, Empty, W>,
    pending: PendingRequests,
}

impl<R, W> PipeTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Creates a transport that reads from one pipe and writes to the other. The reader limits the length of lines: it
    /// fails on a longer one, which ends the session.
    pub(crate) fn new(reader: R, writer: W) -> Self {
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            writer: AsyncRwTransport::new_client(empty(), writer),
            pending: PendingRequests::default(),
        }
    }
}

impl<R, W> Transport<RoleClient> for PipeTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.pending.note_sent(&message);
        self.writer.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            // If this future is dropped, the bytes read so far remain in `line`.
            match self.reader.read_until(b'\n', &mut self.line).await {
                Ok(0) => return None,
                Ok(_) if !self.line.ends_with(b"\n") => return None,
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(%error, "reading from MCP server failed");
                    return None;
                }
            }
            let message = self.pending.read(&self.line);
            self.line.clear();
            if message.is_some() {
                return message;
            }
            // A server that writes lines without end must not starve the timeouts of this task.
            tokio::task::yield_now().await;
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.writer.close().await
    }
}
