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
    /// A text in the arguments of a channel has a place that nothing can be filled in at.
    #[error(
        "{reason}; there is `{{{{message}}}}`, `{{{{time}}}}` and `{{{{run_key}}}}`, and `{{{{{{{{` for two braces"
    )]
    UnknownPlace {
        /// The JSON pointer of the text, as seen from the arguments.
        pointer: String,
        /// What is wrong in it.
        reason: String,
    },
    /// The secret of a webhook proves nothing.
    #[error("the secret cannot be used: {reason}; make one with `openssl rand -hex 32`")]
    InvalidSecret {
        /// What is wrong with it.
        reason: &'static str,
    },
}
