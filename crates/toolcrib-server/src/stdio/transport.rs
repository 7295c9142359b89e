//! A transport with one message per line.
//!
//! Ambiguous messages are answered here and are not passed on: a line that is too long or not JSON, a duplicate key, or
//! the id of a request that is still running.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde::{Deserialize as _, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

use crate::protocol::strict_json;

/// The maximum length of a message, in bytes. The rest of a longer one is skipped.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// The maximum number of requests that a client runs at once over one connection.
const MAX_RUNNING: usize = 512;

/// The id of a rejected request, if it has one, and the error.
type RejectedRequest = (Option<Value>, ErrorData);

/// A transport over a pair of streams.
pub(super) struct LineTransport<R, W> {
    reader: BufReader<R>,
    writer: Arc<tokio::sync::Mutex<W>>,
    /// The ids of the unanswered requests.
    running: Arc<Mutex<HashSet<String>>>,
    /// The incomplete line. A read that is dropped in the middle of a line continues with it.
    line: Vec<u8>,
    is_too_long: bool,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> LineTransport<R, W> {
    pub(super) fn new(reader: R, writer: W) -> Self {
        Self {
            reader: BufReader::new(reader),
            writer: Arc::new(tokio::sync::Mutex::new(writer)),
            running: Arc::default(),
            line: Vec::new(),
            is_too_long: false,
        }
    }

    /// Returns the next line that is not empty, or `None` at the end.
    async fn line(&mut self) -> Option<Result<Vec<u8>, ErrorData>> {
        loop {
            let bytes = self.reader.fill_buf().await.ok()?;
            if bytes.is_empty() {
                return None;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            if self.line.len() + part.len() > MAX_LINE_BYTES {
                self.is_too_long = true;
                self.line.clear();
            }
            if !self.is_too_long {
                self.line.extend_from_slice(part);
            }
            let used = end.map_or(bytes.len(), |end| end + 1);
            self.reader.consume(used);
            if end.is_none() {
                continue;
            }
            let line = std::mem::take(&mut self.line);
            if std::mem::take(&mut self.is_too_long) {
                let message = format!("a message has at most {MAX_LINE_BYTES} bytes");
                return Some(Err(ErrorData::new(ErrorCode::PARSE_ERROR, message, None)));
            }
            if !line.trim_ascii().is_empty() {
                return Some(Ok(line));
            }
        }
    }

    /// Parses a message, and records a request as running.
    fn message(&self, line: &[u8]) -> Result<ClientJsonRpcMessage, Box<RejectedRequest>> {
        let value = strict_json::read(line, MAX_LINE_BYTES).map_err(|error| Box::new((None, error)))?;
        let id = value.get("id").cloned();
        let request = strict_json::request_id(&value);
        if let Some(given_up) = strict_json::cancelled_id(&value) {
            // A cancelled request gets no answer.
            self.running.lock().remove(&given_up);
        }
        let message = ClientJsonRpcMessage::deserialize(value).map_err(|error| {
            Box::new((id.clone(), ErrorData::invalid_request(format!("invalid MCP message: {error}"), None)))
        })?;
        if let Some(request) = request {
            let mut running = self.running.lock();
            let problem = if running.contains(&request) {
                "a request with this id still runs"
            } else if running.len() >= MAX_RUNNING {
                "too many requests run already; wait for their answers"
            } else {
                running.insert(request);
                return Ok(message);
            };
            return Err(Box::new((id, ErrorData::invalid_request(problem, None))));
        }
        Ok(message)
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let id = match &message {
            ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
            ServerJsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        if let Some(id) = id {
            self.running.lock().remove(&told(&id));
        }
        let writer = Arc::clone(&self.writer);
        async move { write(&writer, &message).await }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let read = self.line().await?;
            match read.map_err(|error| Box::new((None, error))).and_then(|line| self.message(&line)) {
                Ok(message) => return Some(message),
                Err(refusal) => {
                    let (id, error) = *refusal;
                    write(&self.writer, &strict_json::answer(id.as_ref(), &error)).await.ok()?;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.writer.lock().await.shutdown().await
    }
}

/// Formats an id like [`strict_json::request_id`].
fn told(id: &RequestId) -> String {
    serde_json::to_value(id).unwrap_or_default().to_string()
}

async fn write<W: AsyncWrite + Unpin>(
    writer: &tokio::sync::Mutex<W>,
    message: &impl Serialize,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut writer = writer.lock().await;
    writer.write_all(&line).await?;
    writer.flush().await
}
