//! The standard error of a server, which is logged line by line. The last lines are kept for error messages.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;

use super::exit::{DRAIN_GRACE, Exit};

/// The number of last lines kept.
pub const STDERR_TAIL_LINES: usize = 20;

/// The maximum length of a kept and logged line, in bytes. The rest is discarded.
pub const STDERR_LINE_BYTES: usize = 2 * 1024;

/// The size of a read, in bytes.
const CHUNK_BYTES: usize = 8 * 1024;

/// The last lines of a child's standard error, for error messages. Clones share the lines and outlive the child.
#[derive(Clone, Debug)]
pub struct StderrTail {
    lines: Arc<Mutex<VecDeque<String>>>,
    drained: watch::Receiver<()>,
    exit: Exit,
}

impl StderrTail {
    /// Creates an empty tail and the task that fills it from `pipe`. The log shows lines with `name`.
    pub(super) fn new(
        name: String,
        pipe: impl AsyncRead + Unpin + Send,
        exit: Exit,
    ) -> (Self, impl Future<Output = ()> + Send) {
        // Nothing is ever sent. The end of the task drops the sender.
        let (draining, drained) = watch::channel(());
        let tail = Self { lines: Arc::default(), drained, exit: exit.clone() };
        let lines = Arc::clone(&tail.lines);
        let task = async move {
            let _draining = draining;
            // A process that left the group may hold the pipe indefinitely.
            let given_up = async {
                let _ = exit.wait().await;
                tokio::time::sleep(DRAIN_GRACE).await;
            };
            tokio::select! {
                () = drain(&name, pipe, &lines) => {}
                () = given_up => {}
            }
        };
        (tail, task)
    }

    /// Returns the lines so far, oldest first, at most [`STDERR_TAIL_LINES`].
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().iter().cloned().collect()
    }

    /// Returns the lines so far. If the child has ended, waits up to [`DRAIN_GRACE`] for its very last lines.
    pub async fn last_lines(&self) -> Vec<String> {
        if self.exit.has_ended() {
            let mut drained = self.drained.clone();
            let _ = tokio::time::timeout(DRAIN_GRACE, drained.changed()).await;
        }
        self.lines()
    }

    /// Returns true if the child has ended.
    pub fn has_ended(&self) -> bool {
        self.exit.has_ended()
    }
}

async fn drain(name: &str, mut pipe: impl AsyncRead + Unpin, lines: &Mutex<VecDeque<String>>) {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut line = Vec::new();
    while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
        let mut parts = chunk.get(..count).unwrap_or_default().split(|byte| *byte == b'\n');
        extend(&mut line, parts.next().unwrap_or_default());
        for part in parts {
            keep(name, &line, lines);
            line.clear();
            extend(&mut line, part);
        }
    }
    if !line.is_empty() {
        keep(name, &line, lines);
    }
}

fn extend(line: &mut Vec<u8>, part: &[u8]) {
    let room = STDERR_LINE_BYTES - line.len();
    line.extend_from_slice(part.get(..part.len().min(room)).unwrap_or_default());
}

fn keep(name: &str, line: &[u8], lines: &Mutex<VecDeque<String>>) {
    // Control characters would let a server control the terminal of a reader of the log or the error.
    let line: String = String::from_utf8_lossy(line)
        .trim_end()
        .chars()
        .map(|character| if character.is_control() && character != '\t' { ' ' } else { character })
        .collect();
    tracing::debug!(child = name, "{line}");
    let mut lines = lines.lock();
    if lines.len() == STDERR_TAIL_LINES {
        lines.pop_front();
    }
    lines.push_back(line);
}
