//! Errors of stores.

use std::path::PathBuf;

/// An error of a store. The failed operation had no effect, unless the error says otherwise. The path of a database of a
/// server is its URL without credentials.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process has the store open.
    #[error("another process uses `{}`; end it, or let both share it with `execution: {{shared: true}}`", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// Another process has held the lock of the database for longer than the timeout.
    #[error("another process is writing to `{}`, and has not ended in time", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be written to.
    #[error("`{}` cannot be written to: {reason}", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// The message of the system.
        reason: String,
    },
    /// The disk is full.
    #[error("there is no room left for `{}`", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The database is damaged.
    #[error("`{}` is damaged: {reason}; it is set aside when it is opened again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A newer version of the program has written the file.
    #[error("`{}` was written by a newer version in format {version}; this version supports formats up to {supported}", path.display())]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// The version of its format.
        version: i64,
        /// The newest supported version of the format.
        supported: i64,
    },
    /// A record exceeds the size limit.
    #[error("{kind} `{id}` has {bytes} bytes; the limit is {limit}")]
    TooLarge {
        /// Its kind.
        kind: &'static str,
        /// Its id.
        id: String,
        /// Its size.
        bytes: usize,
        /// The size limit.
        limit: usize,
    },
    /// Another owner has acquired the lease under which the changes were made.
    #[error("another process has acquired `{id}`")]
    LeaseLost {
        /// The id of the lease.
        id: String,
    },
    /// Another process has taken the record that the changes begin with, or it has ended.
    #[error("{kind} `{id}` was taken by another process, or has ended")]
    Taken {
        /// Its kind.
        kind: &'static str,
        /// Its id.
        id: String,
    },
    /// The system provides no random numbers for an id.
    #[error("the system gives no random numbers: {reason}")]
    NoRandomNumbers {
        /// The message of the system.
        reason: String,
    },
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
    /// The server of the store cannot be reached. A change whose answer was lost has either been made or not.
    #[error("the store {location} cannot be reached: {reason}; tasks work again when it is back")]
    Unreachable {
        /// The URL of the database without its credentials.
        location: String,
        /// The message of the system or the server.
        reason: String,
    },
    /// This build has no support for the store.
    #[error("{location}: this build has no support for PostgreSQL; build it with the feature `postgres`")]
    Unsupported {
        /// The URL of the database without its credentials.
        location: String,
    },
    /// Another error.
    #[error("`{}`: {reason}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// The message of the database or the system.
        reason: String,
    },
}
