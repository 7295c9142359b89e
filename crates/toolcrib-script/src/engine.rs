//! The interface between a script engine and the host that runs its calls.

use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_model::random::{NoRandomNumbers, random_bytes};
use toolcrib_model::{JsonObject, ToolError};

use crate::ScriptError;

/// A script, and everything that its run depends on in addition to the results of its calls. Equal scripts whose calls get
/// equal replies in the same order make the same calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// The program.
    pub source: String,
    /// The seed of the script's random numbers.
    pub seed: u64,
    /// The time that the script sees throughout its run, in milliseconds since 1970.
    pub clock_ms: u64,
}

impl Script {
    /// Creates a script with a random seed, which sees the current time.
    ///
    /// # Errors
    ///
    /// Returns an error if the system has no random numbers.
    pub fn new(source: impl Into<String>) -> Result<Self, NoRandomNumbers> {
        let seed = u64::from_ne_bytes(random_bytes()?);
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let clock_ms = u64::try_from(clock.as_millis()).unwrap_or(u64::MAX);
        Ok(Self { source: source.into(), seed, clock_ms })
    }
}

/// The limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScriptLimits {
    /// The largest source, in bytes. The default is 64 KiB.
    pub source_bytes: usize,
    /// The largest heap, in bytes. The default is 32 MiB.
    pub heap_bytes: usize,
    /// The processor time, in milliseconds. Time spent waiting for calls does not count. The default is 5,000.
    pub cpu_ms: u64,
    /// The maximum number of calls. The default is 50.
    pub calls: u32,
    /// The maximum number of concurrent calls; others wait in order. The default is 8.
    pub concurrent_calls: usize,
    /// The maximum number of bytes that are kept of the console. The default is 64 KiB.
    pub console_bytes: usize,
    /// The largest arguments of a call, result of a call, and result of the script, each in bytes of JSON. The default
    /// is 1 MiB.
    pub value_bytes: usize,
    /// The largest results of all calls together, in bytes of JSON. The default is 8 MiB.
    pub total_bytes: usize,
}

/// The end of a console that is full.
pub(crate) const CONSOLE_FULL: &str = "\n(the console is full)\n";

impl Default for ScriptLimits {
    fn default() -> Self {
        Self {
            source_bytes: 64 * 1024,
            heap_bytes: 32 * 1024 * 1024,
            cpu_ms: 5_000,
            calls: 50,
            concurrent_calls: 8,
            console_bytes: 64 * 1024,
            value_bytes: 1024 * 1024,
            total_bytes: 8 * 1024 * 1024,
        }
    }
}

/// A call that a script has made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScriptCall {
    /// The sequence number of the call in its run, from 0.
    pub id: u32,
    /// The name of the tool, as the script spells it.
    pub tool: String,
    /// The arguments.
    pub arguments: JsonObject,
}

/// The reply to a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallReply {
    /// The number of the call.
    pub id: u32,
    /// The result of the tool, or the error that the script catches.
    pub outcome: Result<Value, ToolError>,
}

/// The state of a script that has run until it waits or has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    /// The calls made since the last pause.
    pub calls: Vec<ScriptCall>,
    /// The lines written to the console since the last pause.
    pub console: String,
    /// The result of the script, or the error that ended it; `None` while it waits for replies.
    pub result: Option<Result<Value, ScriptError>>,
}

/// An engine for scripts of one language.
#[async_trait]
pub trait ScriptEngine: Send + Sync {
    /// Returns the name and version of the engine. A script that another version has begun is not resumed, since it
    /// might run differently.
    fn version(&self) -> &str;

    /// Starts a script, and runs it until it waits for a reply or has ended.
    ///
    /// # Errors
    ///
    /// Returns an error if the script exceeds a limit, or cannot be started.
    async fn start(
        &self,
        script: &Script,
        limits: &ScriptLimits,
    ) -> Result<(Box<dyn ScriptRun>, Pause), ScriptError>;
}

/// A running script. Dropping it ends the script.
#[async_trait]
pub trait ScriptRun: Send {
    /// Delivers a reply, and runs the script until it waits for another one or has ended.
    ///
    /// # Errors
    ///
    /// Returns an error if the process of the script fails, rather than the script itself.
    async fn resume(&mut self, reply: &CallReply) -> Result<Pause, ScriptError>;
}
