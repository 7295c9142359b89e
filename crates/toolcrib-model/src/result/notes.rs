//! Notes of the runtime on a result.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tool::traits::texts;
use crate::{JsonObject, QualifiedName, ToolResult};

/// A note of the runtime on a result: one entry of [`ToolResult::metadata`] that other parts of the runtime read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ResultNote {
    /// The time that the call took in all.
    Took(Duration),
    /// The number of attempts, if there was more than one.
    Attempts(u32),
    /// The time that the call waited in queues.
    Queued(Duration),
    /// The time after which the same call may succeed.
    RetryAfter(Duration),
    /// The result is a cached one, of this age.
    Cached(Duration),
    /// The arguments as the user changed them.
    EditedArguments(JsonObject),
    /// The changes of the arguments by hooks, for the caller.
    HookChanges(Vec<String>),
    /// Notes of hooks on the result; they are added to those before.
    HookNotes(Vec<String>),
    /// The arguments of the call inside a forwarding call.
    Forwarded(JsonObject),
    /// The id under which the call continues in the background.
    BackgroundTask(String),
    /// The size in bytes of the result that became a preview.
    TruncatedBytes(usize),
    /// The handle of the whole result.
    Handle(String),
    /// The number of values that were cut off because they were nested too deeply.
    TooDeep(usize),
    /// The violations of the declared output schema.
    OutputViolations(Vec<String>),
    /// The tokens of the result before and after a projection.
    Projected {
        /// The tokens that a model would have read.
        before: usize,
        /// The tokens that it reads.
        after: usize,
    },
    /// The HTTP status of the response.
    Status(u16),
    /// Selected headers of the response.
    Headers(JsonObject),
    /// A warning about the response.
    Warning(String),
    /// The tools that a search found, best first.
    FoundTools(Vec<QualifiedName>),
    /// The parts of the result that its MCP server addresses to clients.
    ClientContent(ClientContent),
    /// The facts about the result of a background call, which were rendered when it ended.
    Facts(String),
}

/// The parts of a result that its MCP server addresses to clients of the protocol. Models do not see them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientContent {
    /// The `_meta` of the result.
    #[serde(rename = "_meta", skip_serializing_if = "JsonObject::is_empty")]
    pub meta: JsonObject,
    /// The content as the server sent it, if the value of the result does not hold it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<Value>,
}

impl ClientContent {
    /// Returns true if there is nothing for clients.
    pub fn is_empty(&self) -> bool {
        self.meta.is_empty() && self.content.is_empty()
    }
}

/// The metadata key of the parts of a result for clients.
const CLIENT_CONTENT: &str = "client_content";

impl ResultNote {
    fn write(self, metadata: &mut JsonObject) {
        let (key, value): (&str, Value) = match self {
            Self::Took(time) => ("ms", milliseconds(time)),
            Self::Attempts(attempts) => ("attempts", attempts.into()),
            Self::Queued(waited) => ("queued_ms", milliseconds(waited)),
            Self::RetryAfter(wait) => ("retry_after_ms", milliseconds(wait)),
            Self::Cached(age) => {
                metadata.insert("cached".into(), true.into());
                ("age_ms", milliseconds(age))
            }
            Self::EditedArguments(arguments) => ("edited_arguments", arguments.into()),
            Self::HookChanges(changes) => ("hook_changes", changes.into()),
            Self::HookNotes(notes) => {
                let before = metadata.get("hook_notes").into_iter().flat_map(texts).map(str::to_owned);
                let all: Vec<String> = before.chain(notes).collect();
                ("hook_notes", all.into())
            }
            Self::Forwarded(arguments) => ("forwarded", serde_json::json!({"arguments": arguments})),
            Self::BackgroundTask(id) => ("background_task", id.into()),
            Self::TruncatedBytes(bytes) => ("truncated_bytes", bytes.into()),
            Self::Handle(handle) => ("handle", handle.into()),
            Self::TooDeep(count) => ("too_deep", count.into()),
            Self::OutputViolations(violations) => ("output_violations", violations.into()),
            Self::Projected { before, after } => {
                ("projected", serde_json::json!({"before": before, "after": after}))
            }
            Self::Status(status) => ("status", status.into()),
            Self::Headers(headers) => ("headers", headers.into()),
            Self::Warning(warning) => ("warning", warning.into()),
            Self::FoundTools(names) => {
                ("found_tools", names.iter().map(ToString::to_string).collect::<Vec<_>>().into())
            }
            Self::ClientContent(content) => (CLIENT_CONTENT, serde_json::json!(content)),
            Self::Facts(facts) => ("facts", facts.into()),
        };
        metadata.insert(key.into(), value);
    }
}

impl ToolResult {
    /// Adds a note.
    pub fn note(&mut self, note: ResultNote) {
        note.write(&mut self.metadata);
    }

    /// Adds a note.
    pub fn with_note(mut self, note: ResultNote) -> Self {
        self.note(note);
        self
    }

    /// Removes the notes on the way to this result, which do not apply to another call with the same result.
    pub fn forget_attempts(&mut self) {
        self.metadata.remove("attempts");
        self.metadata.remove("queued_ms");
    }

    /// Adds repairs of the arguments to those of nested calls.
    pub fn add_repairs(&mut self, repairs: impl Iterator<Item = Value>) {
        let all = self.metadata.entry("repairs").or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(all) = all {
            all.extend(repairs);
        }
    }

    /// Returns the repairs of arguments that the caller gave. A default that was filled in is part of the schema, so the
    /// caller knows it.
    pub fn repairs(&self) -> impl Iterator<Item = &Value> {
        let all = self.metadata.get("repairs").and_then(Value::as_array).into_iter().flatten();
        all.filter(|repair| repair.get("change").is_none_or(|change| change != "default_filled"))
    }

    /// Returns the time that the call waited in queues, in milliseconds.
    pub fn queued_ms(&self) -> Option<f64> {
        self.metadata.get("queued_ms").and_then(Value::as_f64)
    }

    /// Returns the time after which the same call may succeed.
    pub fn retry_after(&self) -> Option<Duration> {
        self.metadata.get("retry_after_ms").and_then(Value::as_u64).map(Duration::from_millis)
    }

    /// Returns the arguments of the call inside a forwarding call, if this is the result of one.
    pub fn forwarded_arguments(&self) -> Option<&Value> {
        self.metadata.get("forwarded").map(|forwarded| forwarded.get("arguments").unwrap_or(&Value::Null))
    }

    /// Returns the id under which the call continues in the background.
    pub fn background_task(&self) -> Option<&str> {
        self.metadata.get("background_task").and_then(Value::as_str)
    }

    /// Returns true if the value is a preview of a larger result.
    pub fn is_preview(&self) -> bool {
        self.metadata.contains_key("truncated_bytes")
    }

    /// Returns the tokens before and after a projection of the result.
    pub fn projected(&self) -> Option<(u64, u64)> {
        let projected = self.metadata.get("projected")?;
        Some((projected.get("before")?.as_u64()?, projected.get("after")?.as_u64()?))
    }

    /// Returns the number of tokens that a projection of the result saved.
    pub fn saved_tokens(&self) -> Option<u64> {
        self.projected().map(|(before, after)| before.saturating_sub(after))
    }

    /// Returns the handle of the whole result.
    pub fn handle(&self) -> Option<&str> {
        self.metadata.get("handle").and_then(Value::as_str)
    }

    /// Returns the names of the tools that a search found, best first.
    pub fn found_tools(&self) -> impl Iterator<Item = &str> {
        self.metadata.get("found_tools").into_iter().flat_map(texts)
    }

    /// Returns the parts that the MCP server of the tool addresses to clients.
    pub fn client_content(&self) -> Option<ClientContent> {
        ClientContent::deserialize(self.metadata.get(CLIENT_CONTENT)?).ok()
    }

    /// Removes the parts for clients, which do not describe another value.
    pub fn forget_client_content(&mut self) {
        self.metadata.shift_remove(CLIENT_CONTENT);
    }

    /// Returns the violations of the declared output schema.
    pub fn output_violations(&self) -> impl Iterator<Item = &str> {
        self.metadata.get("output_violations").into_iter().flat_map(texts)
    }
}

fn milliseconds(duration: Duration) -> Value {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).into()
}
