//! The state of a session.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_model::text::canonical_json;
use toolcrib_model::{Fingerprint, JsonObject, QualifiedName, ToolCall, ToolResult};

use super::error::SessionError;

/// The most bytes of the values of a session as canonical JSON.
pub(crate) const MAX_STATE_BYTES: usize = 256 * 1024;

/// The most calls in the history of a session.
pub(crate) const MAX_HISTORY_CALLS: usize = 1_000;

/// The most calls of simulated tools that a session remembers. Older ones are forgotten first.
const MAX_REMEMBERED_CALLS: usize = 256;

/// The state of a session. A clone shares nothing with the session that it came from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionState {
    /// The values that stateful tools read and replace.
    pub values: JsonObject,
    /// The calls of the session with their results, oldest first.
    pub history: Vec<CompletedCall>,
    /// The calls that simulated tools answered, oldest first. They include calls that other calls made.
    pub remembered: VecDeque<Arc<RememberedCall>>,
    /// The number of calls that simulated tools have received. Random choices depend on it.
    pub simulated_calls: u64,
}

/// A call with its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompletedCall {
    /// The call.
    pub call: ToolCall,
    /// The result.
    pub result: ToolResult,
}

/// A call of a simulated tool, as an example for later ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RememberedCall {
    /// The tool.
    pub tool: QualifiedName,
    /// The digest of its argument schema.
    pub fingerprint: Fingerprint,
    /// The arguments.
    pub arguments: JsonObject,
    /// The reply of the model, without a state.
    pub reply: Value,
}

impl SessionState {
    /// Adds a call of a simulated tool.
    pub(super) fn remember(&mut self, call: RememberedCall) {
        while self.remembered.len() >= MAX_REMEMBERED_CALLS {
            self.remembered.pop_front();
        }
        self.remembered.push_back(Arc::new(call));
    }

    /// Checks the size of the state.
    pub(super) fn check(&self, session: &str) -> Result<(), SessionError> {
        check_values(&self.values, session)?;
        if self.history.len() > MAX_HISTORY_CALLS {
            return Err(SessionError::HistoryFull { session: session.into(), limit: MAX_HISTORY_CALLS });
        }
        Ok(())
    }
}

impl From<JsonObject> for SessionState {
    fn from(values: JsonObject) -> Self {
        Self { values, ..Self::default() }
    }
}

/// Checks the size of the values of a state.
pub(super) fn check_values(values: &JsonObject, session: &str) -> Result<(), SessionError> {
    let bytes = values.iter().map(|(key, value)| key.len() + canonical_json(value).len()).sum::<usize>();
    if bytes > MAX_STATE_BYTES {
        return Err(SessionError::StateTooLarge { session: session.into(), limit: MAX_STATE_BYTES });
    }
    Ok(())
}
