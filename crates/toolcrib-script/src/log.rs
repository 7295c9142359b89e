//! The log of a script's calls, by which it is resumed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_model::{Fingerprint, JsonObject, ToolError};
use toolcrib_port::CallJournal;

use crate::engine::CallReply;

/// The calls of a script, and the order in which it received their results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScriptLog {
    /// The calls, by their sequence numbers.
    pub calls: Vec<LoggedCall>,
    /// The sequence numbers of the calls whose results the script has received, in that order.
    pub deliveries: Vec<u32>,
}

/// A call of a script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoggedCall {
    /// The name of the tool, as the script spells it.
    pub tool: String,
    /// The arguments, as the script gives them.
    pub arguments: JsonObject,
    /// The fingerprints of the tools that the name meant when the script made the call.
    pub fingerprints: Vec<Fingerprint>,
    /// The state of the call.
    pub state: CallState,
}

/// The state of a call of a script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// The call has not begun.
    Pending,
    /// The call has begun, and has no result yet.
    Begun,
    /// The call has ended with this result or error.
    Ended(Result<Value, ToolError>),
}

/// A store for the log of one script.
#[async_trait]
pub trait ScriptJournal: Send + Sync {
    /// Stores the log. The runner calls it before and after each call that may not be repeated, after each call that a
    /// person was asked about, and before a pause; one call of it ends before the next begins.
    ///
    /// # Errors
    ///
    /// Returns an error if the log cannot be stored. A call that may not be repeated then does not run.
    async fn record(&self, log: &ScriptLog) -> Result<(), ToolError>;
}

/// The log of a running script, and its journal.
pub(crate) struct RunningLog {
    log: Mutex<ScriptLog>,
    journal: Arc<dyn ScriptJournal>,
    /// Held from a snapshot of the log until it is stored, so that an older one does not replace it.
    recording: tokio::sync::Mutex<()>,
    /// The size of all results in bytes of JSON.
    received: AtomicUsize,
}

impl RunningLog {
    pub(crate) fn new(log: ScriptLog, journal: Arc<dyn ScriptJournal>) -> Arc<Self> {
        let results = log.calls.iter().filter_map(|call| match &call.state {
            CallState::Ended(Ok(result)) => Some(result.to_string().len()),
            _ => None,
        });
        let received = AtomicUsize::new(results.sum());
        Arc::new(Self { log: Mutex::new(log), journal, recording: tokio::sync::Mutex::default(), received })
    }

    /// Reads or changes the log in memory.
    pub(crate) fn with<R>(&self, use_log: impl FnOnce(&mut ScriptLog) -> R) -> R {
        use_log(&mut self.log.lock())
    }

    /// Sets the state of a call.
    pub(crate) fn set_state(&self, id: u32, state: CallState) {
        self.with(|log| {
            if let Some(call) = log.calls.get_mut(id as usize) {
                call.state = state;
            }
        });
    }

    /// Returns true if a call has begun.
    pub(crate) fn has_begun(&self, id: u32) -> bool {
        self.with(|log| log.calls.get(id as usize).is_some_and(|call| call.state == CallState::Begun))
    }

    /// Counts a result of this size. Returns false, and does not count it, if all together would be larger than the limit.
    pub(crate) fn receive(&self, bytes: usize, limit: usize) -> bool {
        let add = |received: usize| received.checked_add(bytes).filter(|total| *total <= limit);
        self.received.fetch_update(Ordering::AcqRel, Ordering::Acquire, add).is_ok()
    }

    /// Returns the reply to a call that has ended.
    pub(crate) fn reply(&self, id: u32) -> Option<CallReply> {
        self.with(|log| match &log.calls.get(id as usize)?.state {
            CallState::Ended(outcome) => Some(CallReply { id, outcome: outcome.clone() }),
            CallState::Pending | CallState::Begun => None,
        })
    }

    /// Stores the log.
    pub(crate) async fn record(&self) -> Result<(), ToolError> {
        let _recording = self.recording.lock().await;
        let log = self.with(|log| log.clone());
        self.journal.record(&log).await
    }
}

/// The journal entry of one call of a script.
pub(crate) struct CallEntry {
    pub(crate) log: Arc<RunningLog>,
    pub(crate) id: u32,
    /// True if the call may be repeated, so that its start need not be stored.
    pub(crate) may_repeat: bool,
}

#[async_trait]
impl CallJournal for CallEntry {
    async fn record_start(&self) -> Result<(), ToolError> {
        self.log.set_state(self.id, CallState::Begun);
        if self.may_repeat { Ok(()) } else { self.log.record().await }
    }
}
