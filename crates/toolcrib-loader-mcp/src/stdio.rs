//! Servers that are child processes of ours.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use rmcp::transport::DynamicTransportError;
use tokio::time::timeout;
use toolcrib_io::process::{Child, Command, MAX_LINE_BYTES, Overlong, StderrTail, spawn};
use toolcrib_model::Secret;

use crate::McpSource;
use crate::backpressure::Backpressure;
use crate::error::{Error, chain};
use crate::handshake::{Opening, Unopened, shake_hands};
use crate::pipes::Pipes;
use crate::session::{Fault, LAST_WORDS, Session};

/// How long a server may take to end by itself when its input is closed, and again when it is told to.
pub const CLOSE_GRACE: Duration = Duration::from_secs(2);

/// How many of the last lines on standard error an error quotes.
const QUOTED_LINES: usize = 10;

/// Starts the server and shakes hands.
pub(crate) async fn open(
    source: &McpSource,
    argv: &[String],
    env: &BTreeMap<String, Secret>,
    cwd: Option<&Path>,
    opening: Opening,
) -> Result<Session, Unopened> {
    if argv.first().is_none_or(String::is_empty) {
        return Err(Error::EmptyCommand { namespace: source.namespace.clone() }.into());
    }
    let mut command = Command::new(argv);
    command.cwd = cwd.map(Path::to_owned);
    command.env = env.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())).collect();

    let target = source.target();
    let spawned = |reason| Error::Spawn { target: target.clone(), reason };
    let mut child =
        spawn(&command, format!("mcp {}", source.namespace)).map_err(|error| spawned(chain(&error)))?;
    let (Some(stdin), Some(stdout)) = (child.take_stdin(), child.take_stdout()) else {
        return Err(spawned("its pipes are taken".into()).into());
    };
    let overlong = stdout.overlong();
    let process = Process::new(child, overlong);
    let transport = Backpressure::new(Pipes::new(stdout, stdin));
    shake_hands(opening, transport, Some(process), Box::new(classify)).await
}

/// What a failed write means: its last byte, the line break, was not taken, so the server cannot have read the request.
fn classify(error: &DynamicTransportError) -> Fault {
    Fault::NotSent(chain(error.error.as_ref()))
}

/// The process behind a session.
pub(crate) struct Process {
    child: Mutex<Option<Child>>,
    end: End,
}

/// What is known of the end of a process. It outlives the process, and holds nothing of it.
#[derive(Clone)]
pub(crate) struct End {
    exited: Shared<BoxFuture<'static, String>>,
    stderr: StderrTail,
    overlong: Overlong,
}

impl End {
    /// How it ended, as [`Process::exited`] says it.
    pub(crate) fn status(&self) -> String {
        self.exited.clone().now_or_never().unwrap_or_else(|| "stopped talking".into())
    }

    /// Its [last words](Process::last_words), as far as they have arrived.
    pub(crate) fn words(&self) -> String {
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
    fn new(child: Child, overlong: Overlong) -> Self {
        let exited = child.exited();
        let stderr = child.stderr_tail();
        let exited =
            async move { exited.await.map_or_else(|_| "ended with an unknown status".into(), describe) };
        let end = End { exited: exited.boxed().shared(), stderr, overlong };
        Self { child: Mutex::new(Some(child)), end }
    }

    pub(crate) fn end(&self) -> &End {
        &self.end
    }

    /// Waits for the end of the process and says how it ended, as `exited with status 1`.
    pub(crate) async fn exited(&self) -> String {
        self.end.exited.clone().await
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.end.stderr.has_ended()
    }

    /// What it wrote last on standard error, and whether it wrote too much on the other, as the end of a sentence; empty
    /// when it wrote nothing. What it wrote last may still be on the way, and is waited for.
    pub(crate) async fn last_words(&self) -> String {
        // All of it is in the lines then, and what is not within this time is left out.
        let _ = timeout(LAST_WORDS, self.end.stderr.last_lines()).await;
        self.end.words()
    }

    /// Ends the process and its group in order.
    pub(crate) async fn close(&self) {
        let child = self.child.lock().unwrap_or_else(PoisonError::into_inner).take();
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
