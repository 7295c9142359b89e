//! Findings: one reason and one location each.

use std::fmt;

use serde::Serialize;

/// One thing that is wrong with a conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The reason.
    pub reason: Reason,
    /// The location.
    pub location: Location,
    /// The details, for people.
    pub detail: String,
}

impl Finding {
    pub(crate) fn new(reason: Reason, location: Location, detail: impl Into<String>) -> Self {
        Self { reason, location, detail: detail.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.location, self.reason, self.detail)
    }
}

/// The reason of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// The text of a conversation cannot be parsed.
    Unparsable,
    /// The messages do not form a conversation, or the arguments of a call are not an object.
    Malformed,
    /// A call repeats an earlier one of the same turn.
    DuplicateCall,
    /// The called tool was not offered.
    UnknownTool,
    /// An argument belongs to another offered tool.
    ExtraArgument,
    /// A required argument is missing.
    MissingArgument,
    /// A value does not fit the schema.
    SchemaViolation,
    /// No offered tool has an argument of this name.
    HallucinatedArgument,
    /// A value occurs in no earlier message or result.
    UngroundedValue,
    /// A value occurs only in a later result.
    FutureReference,
    /// An argument refers to a result instead of holding its value.
    IndirectReference,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 11] = [
        Self::Unparsable,
        Self::Malformed,
        Self::DuplicateCall,
        Self::UnknownTool,
        Self::ExtraArgument,
        Self::MissingArgument,
        Self::SchemaViolation,
        Self::HallucinatedArgument,
        Self::UngroundedValue,
        Self::FutureReference,
        Self::IndirectReference,
    ];

    /// Returns the code, as in JSON.
    pub fn code(self) -> &'static str {
        match self {
            Self::Unparsable => "unparsable",
            Self::Malformed => "malformed",
            Self::DuplicateCall => "duplicate_call",
            Self::UnknownTool => "unknown_tool",
            Self::ExtraArgument => "extra_argument",
            Self::MissingArgument => "missing_argument",
            Self::SchemaViolation => "schema_violation",
            Self::HallucinatedArgument => "hallucinated_argument",
            Self::UngroundedValue => "ungrounded_value",
            Self::FutureReference => "future_reference",
            Self::IndirectReference => "indirect_reference",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// A location in a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The index of the message; `None` for the conversation as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<usize>,
    /// The index of the call in its message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<usize>,
    /// The JSON pointer of the argument; empty for the call or message as a whole.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
}

impl Location {
    pub(crate) fn conversation() -> Self {
        Self::default()
    }

    pub(crate) fn message(index: usize) -> Self {
        Self { message: Some(index), ..Self::default() }
    }

    pub(crate) fn call(message: usize, call: usize) -> Self {
        Self { message: Some(message), call: Some(call), path: String::new() }
    }

    pub(crate) fn at(&self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self.clone() }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.message, self.call) {
            (None, _) => f.write_str("conversation")?,
            (Some(message), None) => write!(f, "message {message}")?,
            (Some(message), Some(call)) => write!(f, "message {message}, call {call}")?,
        }
        if self.path.is_empty() { Ok(()) } else { write!(f, ", {}", self.path) }
    }
}
