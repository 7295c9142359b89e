//! A long-running child: a server that communicates over its pipes.

use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::StdoutReader;
use super::command::Command;
use super::exit::KILL_PATIENCE;
use super::lines::{LineLimited, MAX_LINE_BYTES};
use super::start::{Group, StartedProcess, start};
use super::stderr::StderrTail;
use super::stdin::{StdinCloser, StdinWriter};
use super::streamed_run::check_runtime;
use crate::Error;

/// A running child. Dropping it kills its whole process group at once.
#[derive(Debug)]
pub struct Child {
    name: String,
    group: Group,
    stdin: Option<StdinWriter>,
    stdin_closer: StdinCloser,
    stdout: Option<StdoutReader>,
    stderr: StderrTail,
}

/// Starts a long-running command. The log and errors refer to it by `name`.
///
/// Must be called within a Tokio runtime. Standard error of the child goes to the log at level `debug`.
pub fn spawn(command: &Command, name: impl Into<String>) -> Result<Child, Error> {
    let name = name.into();
    let lost = |source| Error::PipeFailed { program: name.clone(), source };
    check_runtime(command.program())?;

    let StartedProcess { group, stdin, stdout, stderr } = start(command, true)?;
    let stdin = stdin.ok_or_else(|| lost(std::io::ErrorKind::BrokenPipe.into()))?;
    let (stdin, stdin_closer) = StdinWriter::new(ChildStdin::from_std(stdin).map_err(lost)?);
    let stdout = LineLimited::new(ChildStdout::from_std(stdout).map_err(lost)?, MAX_LINE_BYTES);
    let stderr = ChildStderr::from_std(stderr).map_err(lost)?;
    let (stderr, drain) = StderrTail::new(name.clone(), stderr, group.exit.clone());
    tokio::spawn(drain);
    Ok(Child { name, group, stdin: Some(stdin), stdin_closer, stdout: Some(stdout), stderr })
}

impl Child {
    /// Returns the name given at the start.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the process id, which is also the id of the process group.
    pub fn id(&self) -> u32 {
        self.group.id()
    }

    /// Takes the writer to standard input. Later calls return `None`.
    pub fn take_stdin(&mut self) -> Option<StdinWriter> {
        self.stdin.take()
    }

    /// Takes the reader of standard output. Later calls return `None`. The reader fails on a line longer than
    /// [`MAX_LINE_BYTES`].
    pub fn take_stdout(&mut self) -> Option<StdoutReader> {
        self.stdout.take()
    }

    /// Returns the last lines of standard error. The handle stays usable after the child has ended.
    pub fn stderr_tail(&self) -> StderrTail {
        self.stderr.clone()
    }

    /// Resolves as soon as the child has ended, even while other processes hold its pipes. The future does not borrow the
    /// child.
    pub fn exited(&self) -> impl Future<Output = Result<ExitStatus, Error>> + Send + use<> {
        self.group.exit.clone().wait()
    }

    /// Kills the whole group at once. [`exited`](Self::exited) resolves soon after.
    pub fn kill(&self) {
        self.group.kill();
    }

    /// Shuts the child down gracefully: closes its input and waits for `grace`, then sends `SIGTERM` to the group and waits
    /// for `grace` again, then sends `SIGKILL`. After a return without error, no process of the group is left.
    pub async fn close(self, grace: Duration) -> Result<ExitStatus, Error> {
        self.stdin_closer.close();
        if let Ok(status) = timeout(grace, self.exited()).await {
            return status;
        }
        tracing::debug!(child = self.name, "still runs without input, sending SIGTERM");
        self.group.terminate();
        if let Ok(status) = timeout(grace, self.exited()).await {
            return status;
        }
        tracing::debug!(child = self.name, "still runs after SIGTERM, sending SIGKILL");
        self.group.kill();
        match timeout(KILL_PATIENCE, self.exited()).await {
            Ok(status) => status,
            Err(_) => Err(Error::Unkillable { program: self.name.clone(), waited: KILL_PATIENCE }),
        }
    }
}
