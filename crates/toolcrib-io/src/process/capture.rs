//! One run of a program, its output captured within bounds.

use std::process::ExitStatus;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::command::Command;
use super::start::{Started, start};
use crate::Error;

/// How much standard output is kept by default, in bytes.
pub const MAX_STDOUT_BYTES: usize = 8 * 1024 * 1024;

/// How much standard error is kept by default, in bytes: enough for any message that somebody will read.
pub const MAX_STDERR_BYTES: usize = 64 * 1024;

/// How long the pipes may stay open after the child has ended. Its group is dead by then and what is left in a pipe
/// takes no time to read; only a process that left the group can hold a pipe longer.
pub const DRAIN_GRACE: Duration = Duration::from_secs(1);

/// How much is read from a pipe at once, in bytes.
const CHUNK_BYTES: usize = 16 * 1024;

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
    let program = command.program();
    let lost = |source| Error::PipeFailed { program: program.to_owned(), source };
    check_runtime(program)?;

    let began = Instant::now();
    let Started { group, stdin: input, stdout, stderr } = start(command, stdin.is_some())?;
    let input = input.map(ChildStdin::from_std).transpose().map_err(lost)?;
    let stdout = ChildStdout::from_std(stdout).map_err(lost)?;
    let stderr = ChildStderr::from_std(stderr).map_err(lost)?;

    let mut captured_stdout = Captured::new(limits.stdout_bytes);
    let mut captured_stderr = Captured::new(limits.stderr_bytes);
    let exited = group.exit.clone().wait();
    let status = {
        let mut pipes = Box::pin(async {
            tokio::join!(feed(input, stdin), captured_stdout.fill(stdout), captured_stderr.fill(stderr));
        });
        tokio::pin!(exited);
        tokio::select! {
            () = &mut pipes => exited.await,
            status = &mut exited => {
                // A pipe that is still open then, belongs to a process that left the group.
                let _ = tokio::time::timeout(DRAIN_GRACE, pipes).await;
                status
            }
        }
    }?;
    Ok(Output {
        status,
        stdout_truncated: captured_stdout.is_truncated(),
        stderr_truncated: captured_stderr.is_truncated(),
        stdout: captured_stdout.bytes,
        stderr: captured_stderr.bytes,
        elapsed: began.elapsed(),
    })
}

/// Pipes need a reactor; without one they would panic.
pub(super) fn check_runtime(program: &str) -> Result<(), Error> {
    tokio::runtime::Handle::try_current().map(drop).map_err(|_| Error::InvalidCommand {
        program: program.to_owned(),
        reason: "there is no Tokio runtime here; start it from within one".into(),
    })
}

/// Writes the input and closes the pipe. A program need not read all of it, so a broken pipe is no error.
async fn feed(pipe: Option<ChildStdin>, input: Option<Bytes>) {
    if let (Some(mut pipe), Some(input)) = (pipe, input) {
        let _ = pipe.write_all(&input).await;
    }
}

/// What is kept of a pipe. It survives its reader, whose future may be dropped.
struct Captured {
    bytes: Vec<u8>,
    limit: usize,
    overflowed: bool,
    ended: bool,
}

impl Captured {
    fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, overflowed: false, ended: false }
    }

    fn is_truncated(&self) -> bool {
        self.overflowed || !self.ended
    }

    /// Reads the pipe to its end, and keeps its beginning.
    async fn fill(&mut self, mut pipe: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            match pipe.read(&mut chunk).await {
                Ok(0) => {
                    self.ended = true;
                    return;
                }
                Ok(count) => {
                    let room = self.limit - self.bytes.len();
                    self.overflowed |= count > room;
                    self.bytes.extend_from_slice(chunk.get(..count.min(room)).unwrap_or_default());
                }
                Err(_) => return,
            }
        }
    }
}
