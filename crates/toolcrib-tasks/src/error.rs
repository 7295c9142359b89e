//! What can be wrong with what somebody asks for.

/// What can be wrong with what somebody asks for. The texts are for whoever asked, a model or a person.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A text does not say when.
    #[error(
        "`{text}` says no moment: {reason}; write `2026-03-01T09:00`, `in 5m`, `tomorrow at 9am` or `dans 30 minutes`"
    )]
    InvalidMoment {
        /// The text, or its beginning.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A cron pattern is none.
    #[error(
        "`{text}` is no cron pattern: {reason}; write five fields (minute, hour, day, month, day of the week), or six with the second before them"
    )]
    InvalidCron {
        /// The pattern, or its beginning.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A condition cannot be read.
    #[error("column {column}: {reason}")]
    InvalidCondition {
        /// The character at which the mistake is, from 1 on.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
}
