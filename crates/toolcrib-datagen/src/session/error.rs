//! The errors of sessions.

/// An error of a session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The session is active.
    #[error("the session `{session}` is already active; end it first, or use another name")]
    AlreadyActive {
        /// The session.
        session: String,
    },
    /// The session is not active: it was not started, or has ended.
    #[error("the session `{session}` is not active; start it first")]
    NotActive {
        /// The session.
        session: String,
    },
    /// There are too many sessions.
    #[error("there are already {limit} sessions; end some of them first")]
    TooManySessions {
        /// The bound.
        limit: usize,
    },
    /// The state of the session is too large.
    #[error("the state of the session `{session}` is larger than {limit} bytes as JSON")]
    StateTooLarge {
        /// The session.
        session: String,
        /// The bound.
        limit: usize,
    },
    /// The history of the session has no room for the calls.
    #[error("the session `{session}` would have more than {limit} calls in its history")]
    HistoryFull {
        /// The session.
        session: String,
        /// The bound.
        limit: usize,
    },
}
