//! The kinds of failures of a call.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of a failure. Its text is part of the wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// No visible tool has this name.
    UnknownTool,
    /// The name fits several tools.
    AmbiguousTool,
    /// The call itself cannot be read, as when its arguments are not JSON.
    MalformedCall,
    /// The arguments do not fit the tool's schema.
    InvalidArgs,
    /// Policy forbids the call.
    Denied,
    /// The policy requires approval, and there is no one to ask.
    ApprovalRequired,
    /// The person asked denied the call, or did not answer.
    ApprovalDenied,
    /// The tool ran and reported a failure.
    ToolFailed,
    /// The call did not end by its deadline.
    Timeout,
    /// The caller cancelled the call.
    Cancelled,
    /// The tool's source cannot be reached.
    Unavailable,
    /// Too many calls are waiting.
    Overloaded,
    /// The tool is not the one it was when the call was made.
    ToolChanged,
    /// The call was sent, and its outcome is unknown.
    OutcomeUnknown,
    /// The tool needs an answer from the user to continue.
    InputRequired,
    /// A bound of the run or the runtime was reached.
    LimitReached,
    /// A handle or id names nothing that this caller owns.
    NotFound,
    /// A fault of Toolcrib or of an engine.
    Internal,
}

impl ErrorKind {
    /// Returns the text of the kind, as in `error.kind`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown_tool",
            Self::AmbiguousTool => "ambiguous_tool",
            Self::MalformedCall => "malformed_call",
            Self::InvalidArgs => "invalid_args",
            Self::Denied => "denied",
            Self::ApprovalRequired => "approval_required",
            Self::ApprovalDenied => "approval_denied",
            Self::ToolFailed => "tool_failed",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Unavailable => "unavailable",
            Self::Overloaded => "overloaded",
            Self::ToolChanged => "tool_changed",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::InputRequired => "input_required",
            Self::LimitReached => "limit_reached",
            Self::NotFound => "not_found",
            Self::Internal => "internal",
        }
    }

    /// Returns true if the same call may succeed later without changes.
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::Timeout | Self::Unavailable | Self::Overloaded)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Advice for a model after a denial: it must not look for a way around the rule.
pub const DENIAL_HINT: &str = "this is final: do not try to do the same by another tool or in other words; tell the user that it is not permitted";

/// Advice for a model whose call too few people approved.
pub const NOT_ENOUGH_APPROVALS_HINT: &str =
    "tell the user that the call needs the approval of other people, who are asked where the app is served";

/// The error of a call, written for a model: the message says what happened and where, the hint what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolError {
    /// The kind of the failure.
    pub kind: ErrorKind,
    /// The description of what happened, and where.
    pub message: String,
    /// Advice for the next step.
    #[serde(default)]
    pub hint: Option<String>,
    /// True if the same call may succeed later.
    #[serde(default)]
    pub retryable: bool,
    /// The setting of the tool's module that the hint may name.
    #[serde(skip)]
    pub setting: Option<&'static str>,
}

impl ToolError {
    /// Creates an error of this kind, with the kind's default of `retryable`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, retryable: kind.is_retryable(), setting: None }
    }

    /// Adds advice for the next step.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Declares that the hint may name this setting of the tool's module, in backticks.
    pub fn with_setting(mut self, key: &'static str) -> Self {
        self.setting = Some(key);
        self
    }

    /// Adds the location of the module's settings to the name of the setting in the hint: `` `headers` `` becomes
    /// `` `modules.http.config.headers` ``.
    pub fn locate_setting(mut self, location: &str) -> Self {
        if let (Some(key), Some(hint)) = (self.setting.take(), &mut self.hint) {
            *hint = hint.replacen(&format!("`{key}"), &format!("`{location}.{key}"), 1);
        }
        self
    }

    /// Sets whether the same call may succeed later, in place of the kind's default.
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.retryable = retryable;
        self
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ToolError {}
