//! Exit codes, and the failures that end a command.

use std::borrow::Cow;
use std::process::ExitCode;

use serde_json::{Value, json};
use toolcrib_app::Error as AppError;
use toolcrib_model::{DENIAL_HINT, ErrorKind, NOT_ENOUGH_APPROVALS_HINT, ToolError};
use toolcrib_runtime::Error as RuntimeError;

use crate::app_start::app_word;

/// The exit code of a command. The numbers are part of the contract of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It worked.
    Ok = 0,
    /// The tool or the run failed.
    Failed = 1,
    /// The command line or a file is wrong.
    BadInput = 2,
    /// Policy, or a person, forbids it.
    Denied = 3,
    /// The call needs approval, and there is no user to ask.
    ApprovalRequired = 4,
    /// A source is unavailable.
    Unavailable = 5,
    /// The answer of a model was cut off.
    Truncated = 6,
    /// A model refused to answer, or a filter of its server stopped the answer.
    Refused = 7,
    /// The answer of a model does not conform to the output schema.
    InvalidOutput = 8,
}

/// The exit codes with their meanings, as the help lists them.
pub(crate) const EXIT_CODES: [(Exit, &str); 9] = [
    (Exit::Ok, "The command succeeded."),
    (Exit::Failed, "The tool or the run failed, or `lint` has findings."),
    (Exit::BadInput, "The command line, the arguments of a call, or a file is wrong."),
    (Exit::Denied, "The policy or a person denied it."),
    (Exit::ApprovalRequired, "It needs approval, and no person can be asked."),
    (
        Exit::Unavailable,
        "A source is unavailable: a server is down, a login is missing, or a variable is not set.",
    ),
    (Exit::Truncated, "The model's answer was cut off at its length limit."),
    (Exit::Refused, "The model refused, or a content filter stopped the answer."),
    (Exit::InvalidOutput, "The model's answer does not conform to the output schema."),
];

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl Exit {
    /// Returns the exit of a call that failed so.
    pub(crate) fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::UnknownTool
            | ErrorKind::AmbiguousTool
            | ErrorKind::MalformedCall
            | ErrorKind::InvalidArgs => Self::BadInput,
            ErrorKind::Denied | ErrorKind::ApprovalDenied => Self::Denied,
            ErrorKind::ApprovalRequired => Self::ApprovalRequired,
            ErrorKind::Unavailable => Self::Unavailable,
            _ => Self::Failed,
        }
    }
}

/// The failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    error: Value,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        let message = message.into();
        let kind = match exit {
            Exit::BadInput => "bad_input",
            Exit::Unavailable => "unavailable",
            _ => "failed",
        };
        let error =
            json!({"kind": kind, "message": message, "hint": null, "retryable": exit == Exit::Unavailable});
        Self { exit, message, error }
    }

    pub(crate) fn bad_input(message: impl Into<String>) -> Self {
        Self::new(Exit::BadInput, message)
    }

    /// Returns the output of `--json`.
    pub(crate) fn json(&self) -> Value {
        json!({"error": self.error})
    }
}

impl From<AppError> for Failure {
    fn from(error: AppError) -> Self {
        let exit = match &error {
            AppError::Model { source } if source.is_unavailable() => Exit::Unavailable,
            _ => Exit::BadInput,
        };
        Self::new(exit, error.to_string())
    }
}

impl From<RuntimeError> for Failure {
    fn from(error: RuntimeError) -> Self {
        match error {
            RuntimeError::App { source } => source.into(),
            error => Self::bad_input(error.to_string()),
        }
    }
}

/// Returns what a person at the command line can do about an error. Hints of errors are written for models.
pub(crate) fn advice(error: &ToolError) -> Option<Cow<'_, str>> {
    match (error.kind, error.hint.as_deref()) {
        // The person at the command line denied the call, or reads in the message what to do about the change.
        (ErrorKind::ApprovalDenied | ErrorKind::ToolChanged, _) => None,
        (ErrorKind::Denied, Some(DENIAL_HINT)) => {
            Some(format!("`toolcrib why {} TOOL` shows the rule that decides", app_word()).into())
        }
        (ErrorKind::ApprovalRequired, Some(NOT_ENOUGH_APPROVALS_HINT)) => Some(
            "other people are asked where the app is served: make the call through `toolcrib serve`".into(),
        ),
        (ErrorKind::ApprovalRequired, _) => {
            Some("grant it under `tools.capabilities`, or run it at a terminal".into())
        }
        (_, hint) => hint.map(Cow::Borrowed),
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        let hint = advice(&error).map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
        Self {
            exit: Exit::of(error.kind),
            message: format!("{}{hint}", error.message),
            error: serde_json::to_value(&error).unwrap_or_default(),
        }
    }
}
