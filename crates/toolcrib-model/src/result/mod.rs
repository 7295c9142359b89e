//! Results of calls.

mod facts;
mod handle;
pub(crate) mod media;
pub(crate) mod notes;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ErrorKind, JsonObject, ToolError};

pub use self::handle::{handle_of, is_handle, replace_handles, replace_handles_in};
pub use self::media::{Media, MediaHandle, media_handles};

/// The result of a call: a value or an error, never both.
///
/// Deserialization is more lenient than serialization: `error` may be a plain text, as in older logs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call; results without one are matched by position.
    #[serde(default)]
    pub call_id: Option<String>,
    /// The qualified name of the tool, or the requested name if no tool has it.
    pub name: String,
    /// The value that the tool returned.
    #[serde(default)]
    pub result: Value,
    /// The error, if the call failed.
    #[serde(default, deserialize_with = "lenient_error")]
    pub error: Option<ToolError>,
    /// Information on the call other than its value: timings, repairs, warnings. [`facts`](Self::facts) renders it for
    /// a reader.
    #[serde(default)]
    pub metadata: JsonObject,
}

impl ToolResult {
    /// Creates a successful result.
    pub fn ok(call_id: Option<String>, name: impl Into<String>, result: Value) -> Self {
        Self { call_id, name: name.into(), result, error: None, metadata: JsonObject::new() }
    }

    /// Creates a failed result.
    pub fn failed(call_id: Option<String>, name: impl Into<String>, error: ToolError) -> Self {
        Self {
            call_id,
            name: name.into(),
            result: Value::Null,
            error: Some(error),
            metadata: JsonObject::new(),
        }
    }

    /// Returns true if the call succeeded.
    pub fn is_ok(&self) -> bool {
        self.error.is_none()
    }

    /// Adds one entry to the metadata.
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }
}

fn lenient_error<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<ToolError>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Full(ToolError),
        Text(String),
    }
    Ok(Option::<Form>::deserialize(deserializer)?.map(|form| match form {
        Form::Full(error) => error,
        Form::Text(message) => ToolError::new(ErrorKind::ToolFailed, message),
    }))
}
