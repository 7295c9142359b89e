//! The channel to a file of JSON lines.

use std::path::PathBuf;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::Serialize;
use toolcrib_io::files::Root;
use toolcrib_model::{ErrorKind, ToolError};

use super::{Channel, Message};

/// The default size limit of the file: 16 MiB.
pub const DEFAULT_MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// The smallest size limit of the file, which holds several of the longest lines.
pub const MIN_FILE_BYTES: u64 = 256 * 1024;

/// A channel that appends each message to a file as a line of JSON: `{"at", "message", "session"}`, with `agent` and
/// `run_key` if they are known. Only the owner of the file may read it. A file that reaches its size limit is renamed
/// to the same name with `.1`, which replaces the previous one.
#[derive(Clone, Debug)]
pub struct FileChannel {
    root: Root,
    path: PathBuf,
    max_bytes: u64,
}

impl FileChannel {
    /// Creates a channel to the file at a path below a folder. The file is created with the first message.
    pub fn new(root: Root, path: impl Into<PathBuf>) -> Self {
        Self { root, path: path.into(), max_bytes: DEFAULT_MAX_FILE_BYTES }
    }

    /// Sets the size limit of the file. The default is [`DEFAULT_MAX_FILE_BYTES`], the minimum [`MIN_FILE_BYTES`].
    pub fn with_max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes.max(MIN_FILE_BYTES);
        self
    }
}

/// A message as a line of the file.
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
            Err(error) => Err(failed(format!("the write was aborted: {error}"))),
        }
    }
}
