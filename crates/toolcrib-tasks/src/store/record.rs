//! The records of a store.

use serde_json::Value;

/// The maximum size of a record in bytes of JSON, unless it is one of a script.
pub(crate) const MAX_RECORD_BYTES: usize = 1024 * 1024;

/// The maximum size of the record of a script, which has the arguments and results of its calls, in bytes of JSON.
const MAX_SCRIPT_BYTES: usize = 16 * 1024 * 1024;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RecordKind {
    /// A background call.
    Background,
    /// A watcher.
    Watcher,
    /// A schedule.
    Schedule,
    /// An unread notification.
    Notification,
    /// A script.
    Script,
    /// A request of an operator to the process that runs the tasks.
    Request,
}

impl RecordKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Background, Self::Watcher, Self::Schedule, Self::Notification, Self::Script, Self::Request];

    /// Returns its name in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Background => "background",
            Self::Watcher => "watcher",
            Self::Schedule => "schedule",
            Self::Notification => "notification",
            Self::Script => "script",
            Self::Request => "request",
        }
    }

    /// Returns the maximum size of a record in bytes of JSON.
    pub(crate) const fn max_bytes(self) -> usize {
        match self {
            Self::Script => MAX_SCRIPT_BYTES,
            _ => MAX_RECORD_BYTES,
        }
    }
}

/// A record of a store.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its kind.
    pub kind: RecordKind,
    /// Its id, which is unique for its kind.
    pub id: String,
    /// The session that it belongs to.
    pub session: String,
    /// Its content.
    pub body: Value,
}

/// A change of a store.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Inserts a record, or replaces the record with the same kind and id.
    Put(Record),
    /// Removes a record with its lease. Has no effect if the record does not exist.
    Remove {
        /// Its kind.
        kind: RecordKind,
        /// Its id.
        id: String,
    },
    /// Changes nothing, and refuses the other changes with
    /// [`StoreError::LeaseLost`](super::error::StoreError::LeaseLost) if another owner was the last to acquire a lease.
    Fence {
        /// The id of the lease.
        id: String,
        /// The owner that makes the changes.
        owner: String,
    },
}

impl Change {
    /// Returns the change that removes a record.
    pub fn remove(kind: RecordKind, id: impl Into<String>) -> Self {
        Self::Remove { kind, id: id.into() }
    }
}
