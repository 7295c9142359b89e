//! One run of a program, its output captured within bounds.

use std::process::ExitStatus;
use std::time::Duration;

use bytes::Bytes;

use super::command::Command;
use super::follow::{Pipe, follow};
use crate::Error;

/// How much standard output is kept by default, in bytes.
pub const MAX_STDOUT_BYTES: usize = 8 * 1024 * 1024;

/// How much standard error is kept by default, in bytes: enough for any message that somebody will read.
pub const MAX_STDERR_BYTES: usize = 64 * 1024;

/// How much of a run is kept. Whatever is beyond is read and thrown away, so that the child does not block on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// How much standard output is kept, in bytes; [`MAX_STDOUT_BYTES`] by default.
    pub stdout_bytes: usize,
    /// How much standard error is kept, in bytes; [`MAX_STDERR_BYTES`] by default.
    pub stderr_bytes: usize,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self { stdout_bytes: MAX_STDOUT_BYTES, stderr_bytes: MAX_STDERR_BYTES }
    }
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// How the program ended.
    pub status: ExitStatus,
    /// The beginning of its standard output.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error.
    pub stderr: Vec<u8>,
    /// Whether there was more on standard output than is kept here.
    pub stdout_truncated: bool,
    /// Whether there was more on standard error than is kept here.
    pub stderr_truncated: bool,
    /// How long it ran.
    pub elapsed: Duration,
}

/// Runs the command to its end and captures what it writes.
///
/// It reads `stdin`, or nothing. A status other than success is no error of this function. There is no timeout:
/// dropping the future kills the whole process group at once, and that is how a deadline is put on a run. What the
/// program leaves in its group when it ends, is killed too.
pub async fn run(command: &Command, stdin: Option<Bytes>, limits: &RunLimits) -> Result<Output, Error> {
    let (mut stdout, mut stderr) = (Captured::new(limits.stdout_bytes), Captured::new(limits.stderr_bytes));
    let keep = |pipe, bytes: &[u8]| match pipe {
        Pipe::Stdout => stdout.keep(bytes),
        Pipe::Stderr => stderr.keep(bytes),
    };
    let ended = follow(command, stdin, keep, std::future::pending(), Duration::ZERO).await?;
    Ok(Output {
        status: ended.status,
        stdout_truncated: stdout.overflowed || !ended.stdout_ended,
        stderr_truncated: stderr.overflowed || !ended.stderr_ended,
        stdout: stdout.bytes,
        stderr: stderr.bytes,
        elapsed: ended.elapsed,
    })
}

/// What is kept of a pipe.
struct Captured {
    bytes: Vec<u8>,
    limit: usize,
    overflowed: bool,
}

impl Captured {
    fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, overflowed: false }
    }

    fn keep(&mut self, chunk: &[u8]) {
        let room = self.limit - self.bytes.len();
        self.overflowed |= chunk.len() > room;
        self.bytes.extend_from_slice(chunk.get(..chunk.len().min(room)).unwrap_or_default());
    }
}
