//! Why a store did not do what it was asked.

use std::path::PathBuf;

/// Why a store did not do what it was asked. What it was asked did not happen.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process works with it.
    #[error("another process works with `{}`; end it, or let both share it with `execution: {{shared: true}}`", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// Somebody holds the database for longer than is waited for.
    #[error("somebody else is writing to `{}`, and does not end", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// It may not be written to.
    #[error("`{}` cannot be written to: {reason}", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// There is no room.
    #[error("there is no room left for `{}`", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// What it has read is no database any more.
    #[error("`{}` is damaged: {reason}; it is set aside when it is opened again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A newer version has written it.
    #[error("`{}` was written by a newer version, in form {form}; this one knows forms up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its form.
        form: i64,
        /// The newest form that is known.
        known: i64,
    },
    /// A record is larger than may be kept.
    #[error("{kind} `{id}` has {bytes} bytes, and may have {limit}")]
    TooLarge {
        /// What it is.
        kind: &'static str,
        /// Which one.
        id: String,
        /// Its size.
        bytes: usize,
        /// What may be kept.
        limit: usize,
    },
    /// There are no random numbers to make an id of.
    #[error("the system gives no random numbers: {reason}")]
    NoRandomNumbers {
        /// What the system says.
        reason: String,
    },
    /// It has been closed.
    #[error("nothing is kept any more: the store is closed")]
    Closed,
    /// Something else.
    #[error("`{}`: {reason}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// What the database or the system says.
        reason: String,
    },
}
