//! One run of a program, its output handed on as it comes.

use std::process::ExitStatus;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::command::Command;
use super::exit::{DRAIN_GRACE, KILL_PATIENCE};
use super::start::{Group, StartedProcess, start};
use crate::Error;

/// The size of a read from a pipe, in bytes.
const CHUNK_BYTES: usize = 16 * 1024;

/// An output pipe of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipe {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// The end of a followed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowedExit {
    /// The exit status.
    pub status: ExitStatus,
    /// True if the run was stopped before its end.
    pub stopped: bool,
    /// True if standard output was read to the end; false if a process that left the group holds it open.
    pub stdout_ended: bool,
    /// True if standard error was read to the end.
    pub stderr_ended: bool,
    /// The run time.
    pub elapsed: Duration,
}

/// Runs the command to its end and passes its output to `output` as it arrives. Nothing is buffered.
///
/// The program reads `stdin`, or nothing. If `stop` is ready first, the whole process group gets `SIGTERM`, and `SIGKILL`
/// after `grace`. Dropping the future kills the group at once. Processes that the program leaves behind are killed too,
/// including those that left the group, if they can be found.
pub async fn follow(
    command: &Command,
    stdin: Option<Bytes>,
    output: impl FnMut(Pipe, &[u8]) + Send,
    stop: impl Future<Output = ()> + Send,
    grace: Duration,
) -> Result<FollowedExit, Error> {
    let program = command.program();
    let lost = |source| Error::PipeFailed { program: program.to_owned(), source };
    check_runtime(program)?;

    let began = Instant::now();
    let StartedProcess { group, stdin: input, stdout, stderr } = start(command, stdin.is_some())?;
    let input = input.map(ChildStdin::from_std).transpose().map_err(lost)?;
    let stdout = ChildStdout::from_std(stdout).map_err(lost)?;
    let stderr = ChildStderr::from_std(stderr).map_err(lost)?;

    // One task reads both pipes, so the lock is never contended.
    let output = Mutex::new(output);
    let take = |pipe, bytes: &[u8]| output.lock()(pipe, bytes);
    let (mut stdout_ended, mut stderr_ended) = (false, false);
    let (status, stopped) = {
        let pipes = async {
            tokio::join!(
                feed(input, stdin),
                pump(stdout, |bytes| take(Pipe::Stdout, bytes), &mut stdout_ended),
                pump(stderr, |bytes| take(Pipe::Stderr, bytes), &mut stderr_ended),
            );
        };
        let ended = end(program, &group, stop, grace);
        tokio::pin!(pipes, ended);
        tokio::select! {
            () = &mut pipes => ended.await,
            ended = &mut ended => {
                // A pipe that is still open then, belongs to a process that left the group.
                let _ = timeout(DRAIN_GRACE, pipes).await;
                ended
            }
        }
    }?;
    Ok(FollowedExit { status, stopped, stdout_ended, stderr_ended, elapsed: began.elapsed() })
}

/// Waits for the end, and sees to it when it is asked for. Says whether it was.
async fn end(
    program: &str,
    group: &Group,
    stop: impl Future<Output = ()>,
    grace: Duration,
) -> Result<(ExitStatus, bool), Error> {
    let exited = group.exit.clone().wait();
    tokio::pin!(exited);
    tokio::select! {
        biased;
        status = &mut exited => return Ok((status?, false)),
        () = stop => {}
    }
    group.terminate();
    if let Ok(status) = timeout(grace, &mut exited).await {
        return Ok((status?, true));
    }
    group.kill();
    match timeout(KILL_PATIENCE, exited).await {
        Ok(status) => Ok((status?, true)),
        Err(_) => Err(Error::Unkillable { program: program.to_owned(), waited: KILL_PATIENCE }),
    }
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

/// Reads the pipe to its end.
async fn pump(mut pipe: impl AsyncRead + Unpin, mut take: impl FnMut(&[u8]), ended: &mut bool) {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match pipe.read(&mut chunk).await {
            Ok(0) => {
                *ended = true;
                return;
            }
            Ok(count) => take(chunk.get(..count).unwrap_or_default()),
            Err(_) => return,
        }
    }
}
