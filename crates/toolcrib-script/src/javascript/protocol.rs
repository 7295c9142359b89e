//! The messages between the host and a worker: one JSON object for each line.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::engine::{CallReply, Pause, Script, ScriptLimits};

/// The largest message in either direction, in bytes. A script that makes calls with larger arguments at once gets an
/// error.
pub(super) const MAX_MESSAGE_BYTES: u64 = 16 * 1024 * 1024;

/// The largest arguments of the calls in one message, in bytes. The rest of a message has room for the console and a
/// result.
pub(super) const MAX_ARGUMENTS_BYTES: usize = 8 * 1024 * 1024;

/// A message to the worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HostMessage<'a> {
    /// Starts the script, once.
    Start { script: Cow<'a, Script>, limits: ScriptLimits },
    /// Delivers a reply.
    Resume(Cow<'a, CallReply>),
}

/// A message from the worker, one for each message to it. The first says that it is ready to start a script.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WorkerMessage {
    Ready,
    Pause(Pause),
}
