//! A file of JSON lines.

use std::path::PathBuf;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::Serialize;
use toolcrib_io::files::Root;
use toolcrib_model::{ErrorKind, ToolError};

use super::{Channel, Message};

/// How large the file grows when nothing is said about it: 16 MiB.
pub const DEFAULT_MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// The least that it may be allowed to grow to: some of the longest lines.
pub const MIN_FILE_BYTES: u64 = 256 * 1024;

/// Writes each message as a line of JSON to a file that only its owner may read: `{"at", "message", "session"}`, with
/// `agent` and `run_key` where they are known. A file that has grown to its bound is renamed to the same name with `.1`, in
/// place of the one before it.
#[derive(Clone, Debug)]
pub struct FileChannel {
    root: Root,
    path: PathBuf,
    max_bytes: u64,
}

impl FileChannel {
    /// A channel to the file at this path below a folder. The file is made when something is sent.
    pub fn new(root: Root, path: impl Into<PathBuf>) -> Self {
        Self { root, path: path.into(), max_bytes: DEFAULT_MAX_FILE_BYTES }
    }

    /// Sets how large the file may grow; [`DEFAULT_MAX_FILE_BYTES`], at least [`MIN_FILE_BYTES`].
    pub fn with_max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes.max(MIN_FILE_BYTES);
        self
    }
}

/// A message as it stands in the file.
#[derive(Serialize)]
struct Line<'a> {
    at: Timestamp,
    message: &'a str,
    session: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_key: Option<&'a str>,
}

#[async_trait]
impl Channel for FileChannel {
    async fn send(&self, message: &Message<'_>) -> Result<(), ToolError> {
        let line = Line {
            at: message.at,
            message: message.text,
            session: &message.context.session,
            agent: message.context.agent.as_deref(),
            run_key: message.run_key,
        };
        let failed = |reason: String| {
            let message = format!("the channel `{}` cannot be written to: {reason}", message.channel);
            ToolError::new(ErrorKind::Unavailable, message)
        };
        let mut line = serde_json::to_vec(&line).map_err(|error| failed(error.to_string()))?;
        line.push(b'\n');
        let channel = self.clone();
        let written = tokio::task::spawn_blocking(move || {
            channel.root.append_line(&channel.path, &line, channel.max_bytes)
        });
        match written.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(error) => Err(failed(format!("writing broke off: {error}"))),
        }
    }
}
