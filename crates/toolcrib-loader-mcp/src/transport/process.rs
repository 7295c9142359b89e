//! The process of a server.

use std::process::ExitStatus;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use tokio::time::timeout;
use toolcrib_io::process::{Child, MAX_LINE_BYTES, Overlong, StderrTail};

/// The time that a server has to exit after its input is closed, and again after SIGTERM.
pub const CLOSE_GRACE: Duration = Duration::from_secs(2);

/// The number of lines of standard error that an error quotes.
const QUOTED_LINES: usize = 10;

/// The time that the last output of a server may take to arrive after it exits. Its descendants can hold the pipe open,
/// so the end of the pipe cannot be awaited.
pub(crate) const LAST_OUTPUT_WAIT: Duration = Duration::from_millis(250);

/// The process of a session.
pub(crate) struct Process {
    child: Mutex<Option<Child>>,
    exit: ProcessExit,
}

/// The exit of a process. It outlives the process, and holds no resources of it.
#[derive(Clone)]
pub(crate) struct ProcessExit {
    exited: Shared<BoxFuture<'static, String>>,
    stderr: StderrTail,
    overlong: Overlong,
}

impl ProcessExit {
    /// Returns the exit status as [`Process::exited`] describes it.
    pub(crate) fn status(&self) -> String {
        self.exited.clone().now_or_never().unwrap_or_else(|| "stopped talking".into())
    }

    /// Returns the [last output](Process::last_output) that has arrived so far.
    pub(crate) fn last_output(&self) -> String {
        let overlong = if self.overlong.is_met() {
            format!("; it wrote a line of more than {} MiB, which was not read", MAX_LINE_BYTES >> 20)
        } else {
            String::new()
        };
        let lines = self.stderr.lines();
        let quoted = lines.get(lines.len().saturating_sub(QUOTED_LINES)..).unwrap_or_default();
        if quoted.is_empty() {
            return overlong;
        }
        format!("{overlong}; its last lines on standard error:\n  {}", quoted.join("\n  "))
    }
}

impl Process {
    pub(crate) fn new(child: Child, overlong: Overlong) -> Self {
        let exited = child.exited();
        let stderr = child.stderr_tail();
        let exited =
            async move { exited.await.map_or_else(|_| "ended with an unknown status".into(), describe) };
        let exit = ProcessExit { exited: exited.boxed().shared(), stderr, overlong };
        Self { child: Mutex::new(Some(child)), exit }
    }

    pub(crate) fn exit(&self) -> &ProcessExit {
        &self.exit
    }

    /// Waits for the process to exit and describes its status, as `exited with status 1`.
    pub(crate) async fn exited(&self) -> String {
        self.exit.exited.clone().await
    }

    /// Returns true if the process has exited.
    pub(crate) fn has_ended(&self) -> bool {
        self.exit.stderr.has_ended()
    }

    /// Returns the last lines of standard error, and whether a line of standard output was too long, as the end of a
    /// sentence; empty if there is nothing to report. Waits briefly for output that has not arrived yet.
    pub(crate) async fn last_output(&self) -> String {
        // Lines that arrive later are left out.
        let _ = timeout(LAST_OUTPUT_WAIT, self.exit.stderr.last_lines()).await;
        self.exit.last_output()
    }

    /// Closes the process and its group in order.
    pub(crate) async fn close(&self) {
        let child = self.child.lock().take();
        if let Some(child) = child
            && let Err(error) = child.close(CLOSE_GRACE).await
        {
            tracing::warn!(%error, "MCP server did not end");
        }
    }
}

fn describe(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exited with status {code}"),
        None => format!("was ended by {status}"),
    }
}
