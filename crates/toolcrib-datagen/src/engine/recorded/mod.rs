//! The engine whose results come from an audit log with values.

mod log;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_model::text::canonical_json;
use toolcrib_model::{ErrorKind, JsonObject, QualifiedName, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, ToolEngine};

pub use self::log::MAX_LOG_BYTES;
use crate::engine::SIMULATION;
use crate::session::{RememberedCall, SessionError, SessionStates};

/// The category of calls that the log does not have.
pub(crate) const NOT_RECORDED: &str = "not_recorded";

/// The settings of `type: recorded`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RecordedSettings {
    /// The audit log: the file that `audit.path` named when the calls were made with `values` and `results`.
    pub path: PathBuf,
}

/// The engine of `type: recorded`: a call has the result that an equal call, with the same arguments, had in the log.
///
/// If the log has several equal calls, the first one of a session has the result of the first, and so on; the last
/// result is repeated. A call that the log does not have fails; the metadata say so under [`SIMULATION`].
pub struct RecordedEngine {
    calls: HashMap<CallKey, Vec<RecordedOutcome>>,
    states: SessionStates,
    /// The log, for error messages.
    name: String,
}

/// The tool, and the canonical JSON of the arguments.
type CallKey = (QualifiedName, String);

/// The outcome of a recorded call.
type RecordedOutcome = Result<Value, ToolError>;

impl RecordedEngine {
    /// Creates the engine, and reads the log, with the file that it was renamed to (`.1`). Sessions of a
    /// [`SessionEngine`](crate::session::SessionEngine) are seen if it has the same `states`.
    ///
    /// # Errors
    ///
    /// Returns an error if the log cannot be read, or has no call with its arguments and result.
    pub fn open(settings: &RecordedSettings, states: SessionStates) -> Result<Self, String> {
        let name = settings.path.display().to_string();
        let mut calls = HashMap::<CallKey, Vec<RecordedOutcome>>::new();
        for call in log::read(&settings.path)? {
            let key = (call.tool, canonical_json(&Value::Object(call.arguments)));
            calls.entry(key).or_default().push(call.outcome);
        }
        Ok(Self { calls, states, name })
    }

    async fn outcome(
        &self,
        call: &Call,
        context: &CallContext,
    ) -> Result<Option<RecordedOutcome>, SessionError> {
        let session = &*context.session;
        let key = (call.tool.name.clone(), canonical_json(&Value::Object(call.arguments.clone())));
        let Some(outcomes) = self.calls.get(&key) else { return Ok(None) };
        // Equal calls at the same time have different results too.
        let changes = self.states.changes(session)?;
        let _changing = changes.lock().await;
        let is_equal =
            |earlier: &RememberedCall| earlier.tool == call.tool.name && earlier.arguments == call.arguments;
        let view = self.states.enter(session, outcomes.len(), is_equal)?;
        let remembered = RememberedCall {
            tool: call.tool.name.clone(),
            fingerprint: call.fingerprint,
            arguments: call.arguments.clone(),
            reply: Value::Null,
        };
        self.states.leave((session, view.id), remembered, None)?;
        Ok(outcomes.get(view.earlier.len()).or(outcomes.last()).cloned())
    }

    fn not_recorded(&self, tool: &QualifiedName) -> ToolError {
        let of_tool = self.calls.keys().filter(|(name, _)| name == tool).count();
        let message = format!(
            "{} has no result of `{}` with these arguments; it has results of {of_tool} other calls of it",
            self.name,
            tool.dotted()
        );
        ToolError::new(ErrorKind::Unavailable, message).with_retryable(false)
    }
}

#[async_trait]
impl ToolEngine for RecordedEngine {
    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        let (result, origin) = match self.outcome(call, context).await {
            Ok(Some(Ok(value))) => (call.ok(value), json!({"recorded": true})),
            Ok(Some(Err(error))) => (call.failed(error), json!({"recorded": true})),
            Ok(None) => (call.failed(self.not_recorded(&call.tool.name)), json!({"failed": NOT_RECORDED})),
            Err(error) => {
                let error = ToolError::new(ErrorKind::LimitReached, error.to_string());
                (call.failed(error), json!({"failed": "state"}))
            }
        };
        result.with_metadata(SIMULATION, origin)
    }

    async fn end_session(&self, session: &str) {
        self.states.forget(session);
    }
}

impl fmt::Debug for RecordedEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordedEngine")
            .field("log", &self.name)
            .field("calls", &self.calls.len())
            .finish_non_exhaustive()
    }
}

/// A call of the log.
struct RecordedCall {
    tool: QualifiedName,
    arguments: JsonObject,
    outcome: RecordedOutcome,
}
