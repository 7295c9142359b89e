//! A child that stays: a server that is talked to over its pipes.

use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::StdoutReader;
use super::command::Command;
use super::follow::check_runtime;
use super::lines::{LineLimited, MAX_LINE_BYTES};
use super::start::{Group, Started, start};
use super::stderr::StderrTail;
use super::stdin::{StdinCloser, StdinWriter};
use crate::Error;

/// How long a killed child may take to end. Only the system can hold it longer, as on a file system that hangs.
pub const KILL_PATIENCE: Duration = Duration::from_secs(5);

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

/// Starts a command that is to stay. `name` stands for it in the log and in errors.
///
/// It must be called within a Tokio runtime. What the child writes to standard error goes to the log at level debug.
pub fn spawn(command: &Command, name: impl Into<String>) -> Result<Child, Error> {
    let name = name.into();
    let lost = |source| Error::PipeFailed { program: name.clone(), source };
    check_runtime(command.program())?;

    let Started { group, stdin, stdout, stderr } = start(command, true)?;
    let stdin = stdin.ok_or_else(|| lost(std::io::ErrorKind::BrokenPipe.into()))?;
    let (stdin, stdin_closer) = StdinWriter::new(ChildStdin::from_std(stdin).map_err(lost)?);
    let stdout = LineLimited::new(ChildStdout::from_std(stdout).map_err(lost)?, MAX_LINE_BYTES);
    let stderr = ChildStderr::from_std(stderr).map_err(lost)?;
    let (stderr, drain) = StderrTail::new(name.clone(), stderr, group.exit.clone());
    tokio::spawn(drain);
    Ok(Child { name, group, stdin: Some(stdin), stdin_closer, stdout: Some(stdout), stderr })
}

impl Child {
    /// The name that it was started under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its process id, which is the id of its group too.
    pub fn id(&self) -> u32 {
        self.group.id()
    }

    /// The writer to its standard input; the first caller gets it.
    pub fn take_stdin(&mut self) -> Option<StdinWriter> {
        self.stdin.take()
    }

    /// The reader of its standard output; the first caller gets it. It fails on a line longer than
    /// [`MAX_LINE_BYTES`].
    pub fn take_stdout(&mut self) -> Option<StdoutReader> {
        self.stdout.take()
    }

    /// The last lines of its standard error. What is returned stays usable when the child is gone.
    pub fn stderr_tail(&self) -> StderrTail {
        self.stderr.clone()
    }

    /// Resolves as soon as the child has ended, even while other processes hold its pipes. The future can be kept
    /// apart from the child.
    pub fn exited(&self) -> impl Future<Output = Result<ExitStatus, Error>> + Send + use<> {
        self.group.exit.clone().wait()
    }

    /// Kills the whole group at once. [`exited`](Self::exited) resolves soon after.
    pub fn kill(&self) {
        self.group.kill();
    }

    /// Ends it, politely at first: closes its input and waits for `grace`; sends `SIGTERM` to the group and waits as
    /// long again; sends `SIGKILL`. When this returns without error, no process of the group
    /// is left.
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
