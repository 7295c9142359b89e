//! Lines of JSON over a socket, within bounds.

use std::io;
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

/// How long the other side may take to let a line through.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);

/// Lines of the other side.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    /// The line that is being read. A reader that is dropped in the middle of it goes on with it.
    line: Vec<u8>,
    max_bytes: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R, max_bytes: usize) -> Self {
        Self { reader: BufReader::new(reader), line: Vec::new(), max_bytes }
    }

    /// The next line; `None` at the end. One that is too long is an error, and nothing can be read behind it.
    pub(super) async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let bytes = self.reader.fill_buf().await?;
            if bytes.is_empty() {
                return Ok(None);
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            if self.line.len() + part.len() > self.max_bytes {
                let message = format!("a line has at most {} bytes", self.max_bytes);
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            self.line.extend_from_slice(part);
            let used = end.map_or(bytes.len(), |end| end + 1);
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some(std::mem::take(&mut self.line)));
            }
        }
    }
}

/// Sends a line, or fails when it is not taken in time.
pub(super) async fn send<W: AsyncWrite + Unpin>(writer: &mut W, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    tokio::time::timeout(WRITE_PATIENCE, writer.write_all(&line)).await?
}
