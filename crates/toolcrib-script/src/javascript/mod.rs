//! JavaScript, in worker processes.

mod context;
mod protocol;
mod worker;

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use toolcrib_io::process::{Child, Command, StdinWriter, StdoutReader, is_out_of_cpu_time, spawn};

use crate::ScriptError;
use crate::engine::{CallReply, Pause, Script, ScriptEngine, ScriptLimits, ScriptRun};
use protocol::{HostMessage, MAX_MESSAGE_BYTES, WorkerMessage};

pub use worker::{run_worker, serve_worker};

/// The first argument of a program that is to call [`run_worker`].
pub const WORKER_ARGUMENT: &str = "script-worker";

/// The default number of workers that wait for a script.
const WARM_WORKERS: usize = 1;

/// An engine for JavaScript. Each script runs in a separate process, which has no environment, cannot open network
/// connections or files through the language, and ends with its script.
///
/// Scripts are the bodies of async functions. They see the built-in objects of JavaScript, `tools`, `console`, and
/// `ToolError`. `tools.namespace.name({…})` calls a tool and returns a promise. `Math.random` and `Date` are
/// deterministic.
pub struct JavaScriptEngine {
    shared: Arc<WorkerPool>,
}

/// The workers that wait for a script.
struct WorkerPool {
    command: Command,
    idle: Mutex<Vec<Worker>>,
    size: usize,
}

/// A worker process, before or during its script.
struct Worker {
    /// Kills the process when dropped.
    child: Child,
    input: StdinWriter,
    output: BufReader<StdoutReader>,
    /// The processor time of its script, in milliseconds.
    cpu_ms: u64,
}

/// The version of the engine: that of this crate, which determines that of `QuickJS`.
const VERSION: &str = concat!("javascript ", env!("CARGO_PKG_VERSION"));

impl JavaScriptEngine {
    /// Creates an engine whose workers run this command, which must call [`run_worker`]. No worker starts before the
    /// first script.
    pub fn new(command: Command) -> Self {
        let command = command.with_clean_env().with_env("TZ", "UTC").with_cwd("/");
        let shared = WorkerPool { command, idle: Mutex::default(), size: WARM_WORKERS };
        Self { shared: Arc::new(shared) }
    }

    /// Creates an engine whose workers run the current program with [`WORKER_ARGUMENT`].
    ///
    /// # Errors
    ///
    /// Returns an error if the path of the program is unknown.
    pub fn of_current_program() -> Result<Self, ScriptError> {
        let program = std::env::current_exe().map_err(|error| worker_error(&error))?;
        let program =
            program.to_str().ok_or_else(|| worker_error(&"the path of the program is not UTF-8"))?;
        Ok(Self::new(Command::new([program, WORKER_ARGUMENT])))
    }
}

impl WorkerPool {
    /// Returns a worker that is ready.
    async fn take(&self) -> Result<Worker, ScriptError> {
        let warm = self.idle.lock().pop();
        match warm {
            Some(worker) => Ok(worker),
            None => self.start().await,
        }
    }

    /// Starts a worker for the next script in the background.
    fn refill(self: &Arc<Self>) {
        let pool = Arc::downgrade(self);
        tokio::spawn(async move {
            let Some(pool) = pool.upgrade().filter(|pool| pool.idle.lock().len() < pool.size) else { return };
            match pool.start().await {
                Ok(worker) => {
                    let mut idle = pool.idle.lock();
                    if idle.len() < pool.size {
                        idle.push(worker);
                    }
                }
                // The next script starts a worker itself, and reports the error.
                Err(error) => tracing::debug!(%error, "no script worker could be started in advance"),
            }
        });
    }

    /// Starts a worker, and waits until it is ready.
    async fn start(&self) -> Result<Worker, ScriptError> {
        let mut child = spawn(&self.command, "script worker").map_err(|error| worker_error(&error))?;
        let (Some(input), Some(output)) = (child.take_stdin(), child.take_stdout()) else {
            return Err(worker_error(&"it has no pipes"));
        };
        let mut worker = Worker { child, input, output: BufReader::new(output), cpu_ms: 0 };
        match worker.receive().await? {
            WorkerMessage::Ready => Ok(worker),
            WorkerMessage::Pause(_) => Err(worker_error(&"its first message is not that it is ready")),
        }
    }
}

impl Worker {
    async fn send(&mut self, message: &HostMessage<'_>) -> Result<(), ScriptError> {
        let mut line = serde_json::to_vec(message).map_err(|error| worker_error(&error))?;
        line.push(b'\n');
        self.input.write_all(&line).await.map_err(|error| worker_error(&error))
    }

    async fn receive(&mut self) -> Result<WorkerMessage, ScriptError> {
        let mut line = Vec::new();
        let mut bounded = (&mut self.output).take(MAX_MESSAGE_BYTES);
        bounded.read_until(b'\n', &mut line).await.map_err(|error| worker_error(&error))?;
        if line.is_empty() {
            let status = self.child.exited().await;
            // A loop inside of the engine that does not check the limit.
            if status.as_ref().is_ok_and(|status| is_out_of_cpu_time(*status)) {
                return Err(ScriptError::CpuTime { limit_ms: self.cpu_ms });
            }
            let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
            return Err(worker_error(&format!("it ended without an answer ({status})")));
        }
        serde_json::from_slice(&line).map_err(|error| worker_error(&error))
    }

    /// Sends a message, and runs the script until it waits or has ended.
    async fn exchange(&mut self, message: &HostMessage<'_>) -> Result<Pause, ScriptError> {
        self.send(message).await?;
        match self.receive().await? {
            WorkerMessage::Pause(pause) => Ok(pause),
            WorkerMessage::Ready => Err(worker_error(&"it started twice")),
        }
    }
}

#[async_trait]
impl ScriptEngine for JavaScriptEngine {
    fn version(&self) -> &str {
        VERSION
    }

    async fn start(
        &self,
        script: &Script,
        limits: &ScriptLimits,
    ) -> Result<(Box<dyn ScriptRun>, Pause), ScriptError> {
        let bytes = script.source.len();
        if bytes > limits.source_bytes {
            return Err(ScriptError::SourceTooLong { bytes, limit: limits.source_bytes });
        }
        let mut worker = self.shared.take().await?;
        worker.cpu_ms = limits.cpu_ms;
        let start = HostMessage::Start { script: Cow::Borrowed(script), limits: *limits };
        let pause = worker.exchange(&start).await;
        // Not before: to start a process blocks a thread of the runtime for a while.
        self.shared.refill();
        Ok((Box::new(worker), pause?))
    }
}

#[async_trait]
impl ScriptRun for Worker {
    async fn resume(&mut self, reply: &CallReply) -> Result<Pause, ScriptError> {
        self.exchange(&HostMessage::Resume(Cow::Borrowed(reply))).await
    }
}

fn worker_error(problem: &(impl ToString + ?Sized)) -> ScriptError {
    ScriptError::Worker { problem: problem.to_string() }
}
