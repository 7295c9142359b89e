//! Messages over the pipes of a child process, one a line.

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader, Empty, empty};

use crate::message::Pending;

/// A transport over two pipes. rmcp writes; lines are read here, because rmcp passes over those that it cannot read, and
/// leaves their requests waiting.
pub(crate) struct Pipes<R, W: AsyncWrite> {
    reader: BufReader<R>,
    /// What has arrived of the next line. It stays here while nobody waits, since the receiving future may be dropped.
    line: Vec<u8>,
    writer: AsyncRwTransport<RoleClient, Empty, W>,
    pending: Pending,
}

impl<R, W> Pipes<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Returns a transport that reads from one pipe and writes to the other. The reader bounds its lines by failing on a
    /// longer one, which ends the session.
    pub(crate) fn new(reader: R, writer: W) -> Self {
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            writer: AsyncRwTransport::new_client(empty(), writer),
            pending: Pending::default(),
        }
    }
}

impl<R, W> Transport<RoleClient> for Pipes<R, W>
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
            // Where this is dropped, what it has read stays in the line.
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
            // A server that writes no messages without end must not keep the timer beside this from its turn.
            tokio::task::yield_now().await;
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.writer.close().await
    }
}
