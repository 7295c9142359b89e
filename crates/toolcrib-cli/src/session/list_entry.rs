//! A session in a list of stored sessions.

use serde::Serialize;

/// The most sessions that are listed, the newest ones.
pub(super) const MAX_LISTED: usize = 500;

/// The most bytes of a prompt in a list.
pub(super) const MAX_PROMPT_BYTES: usize = 60;

/// A session in a list.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct StoredSession {
    pub(crate) id: String,
    /// The agent that it is a conversation with; absent where the file cannot be read.
    pub(crate) agent: Option<String>,
    /// The beginning of its first prompt.
    pub(crate) prompt: Option<String>,
    pub(crate) bytes: u64,
    /// The time of the last write, in seconds since 1970.
    pub(crate) changed: u64,
}
