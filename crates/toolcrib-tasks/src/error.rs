//! Errors in user input.

/// An error in the input of a model or a person. The messages address the author of the input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text does not name a time.
    #[error(
        "`{text}` is not a valid time: {reason}; write `2026-03-01T09:00`, `in 5m`, `tomorrow at 9am` or `dans 30 minutes`"
    )]
    InvalidMoment {
        /// The text, or its beginning.
        text: String,
        /// The reason.
        reason: String,
    },
    /// The cron pattern is invalid.
    #[error(
        "`{text}` is not a valid cron pattern: {reason}; write five fields (minute, hour, day, month, day of the week), or six with the second before them"
    )]
    InvalidCron {
        /// The pattern, or its beginning.
        text: String,
        /// The reason.
        reason: String,
    },
    /// The condition is invalid.
    #[error("column {column}: {reason}")]
    InvalidCondition {
        /// The position of the error in characters, starting at 1.
        column: usize,
        /// The reason.
        reason: String,
    },
    /// A text in the arguments of a channel has an unknown placeholder.
    #[error(
        "{reason}; there is `{{{{message}}}}`, `{{{{time}}}}` and `{{{{run_key}}}}`, and `{{{{{{{{` for two braces"
    )]
    UnknownPlaceholder {
        /// The JSON pointer to the text, relative to the arguments.
        pointer: String,
        /// The reason.
        reason: String,
    },
}
