//! Errors of settings, and failures of hooks.

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct SettingError {
    /// The JSON pointer of the setting, relative to its section.
    pub pointer: String,
    /// The problem, and the correct form.
    pub message: String,
}

impl SettingError {
    pub(crate) fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into() }
    }
}

/// The reason why a hook returned no verdict.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The reason.
    pub(crate) reason: String,
    /// The beginning of what the hook returned, or empty. It may be what the hook keeps from a model.
    pub(crate) returned: String,
}

impl Failure {
    pub(crate) fn with_returned(reason: impl Into<String>, returned: impl Into<String>) -> Self {
        Self { reason: reason.into(), returned: returned.into() }
    }

    /// Returns the reason with what the hook returned.
    pub(crate) fn full(&self) -> String {
        let Self { reason, returned } = self;
        if returned.is_empty() { reason.clone() } else { format!("{reason}: {returned}") }
    }
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self::with_returned(reason, "")
    }
}

impl From<&str> for Failure {
    fn from(reason: &str) -> Self {
        Self::with_returned(reason, "")
    }
}
