//! A single run of a program with bounded capture of its output.

use std::process::ExitStatus;
use std::time::Duration;

use bytes::Bytes;

use super::command::Command;
use super::streamed_run::{Pipe, follow};
use crate::Error;

/// The default limit of captured standard output, in bytes.
pub const MAX_STDOUT_BYTES: usize = 8 * 1024 * 1024;

/// The default limit of captured standard error, in bytes: enough for any message that a person reads.
pub const MAX_STDERR_BYTES: usize = 64 * 1024;

/// The limits of captured output. Output beyond them is read and discarded, so the child does not block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// The limit of standard output in bytes; [`MAX_STDOUT_BYTES`] by default.
    pub stdout_bytes: usize,
    /// The limit of standard error in bytes; [`MAX_STDERR_BYTES`] by default.
    pub stderr_bytes: usize,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self { stdout_bytes: MAX_STDOUT_BYTES, stderr_bytes: MAX_STDERR_BYTES }
    }
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The exit status.
    pub status: ExitStatus,
    /// The beginning of its standard output.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error.
    pub stderr: Vec<u8>,
    /// True if standard output was cut at the limit.
    pub stdout_truncated: bool,
    /// True if standard error was cut at the limit.
    pub stderr_truncated: bool,
    /// The run time.
    pub elapsed: Duration,
}

/// Runs the command to its end and captures what it writes.
///
/// The program reads `stdin`, or nothing. A failure status is not an error of this function. There is no timeout: to set a
/// deadline, drop the future, which kills the whole process group at once. Processes that the program leaves in its group
/// are killed too.
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

/// The captured beginning of a pipe.
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
