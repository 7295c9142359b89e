//! The records of a store.

use std::time::Duration;

use serde_json::Value;

/// The maximum size of a record in bytes of JSON, unless it is one of a script.
pub(crate) const MAX_RECORD_BYTES: usize = 1024 * 1024;

/// The maximum size of the record of a script, which has the arguments and results of its calls, in bytes of JSON.
const MAX_SCRIPT_BYTES: usize = 16 * 1024 * 1024;

/// The maximum size of the record of a result, whose text has up to 32 MiB, in bytes of JSON.
const MAX_RESULT_BYTES: usize = 64 * 1024 * 1024;

/// The maximum size of a message between processes, which has the answer to a call, in bytes of JSON.
const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// The maximum size of the record of the approved tools of a server, whose definitions have up to 4 MiB, in bytes of JSON.
const MAX_PIN_BYTES: usize = 16 * 1024 * 1024;

/// The maximum size of the record of the contents of a source or of vectors, which have up to 32 MiB, in bytes of JSON.
const MAX_GENERATION_BYTES: usize = 64 * 1024 * 1024;

/// The maximum size of a record with entries of a conversation, whose text has up to 64 MiB, in bytes of JSON.
const MAX_ENTRY_BYTES: usize = 160 * 1024 * 1024;

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
    /// A process that shares the store.
    Process,
    /// A key that all processes have in common.
    Key,
    /// A question that waits for the answer of a person.
    Question,
    /// An answer to a question whose caller makes its call again.
    Answer,
    /// A message to one of the processes.
    Message,
    /// A suspended call that its client can resume.
    Suspended,
    /// A suspended call that has not begun.
    NotBegun,
    /// A result behind a handle.
    Result,
    /// A change of an operator to what callers may use.
    Override,
    /// The encrypted tokens of an upstream server.
    Token,
    /// The approved tools of an MCP server.
    Pin,
    /// The contents of a source that one of the processes has loaded.
    Generation,
    /// The vectors of tools that one of the processes has made.
    Vectors,
    /// The description of a conversation of `toolcrib run`.
    Session,
    /// Entries of a conversation.
    SessionEntry,
    /// The subscription of a browser to push messages.
    PushSubscription,
    /// A large result that a conversation refers to.
    SessionResult,
}

impl RecordKind {
    /// All kinds.
    pub const ALL: [Self; 23] = [
        Self::Background,
        Self::Watcher,
        Self::Schedule,
        Self::Notification,
        Self::Script,
        Self::Request,
        Self::Process,
        Self::Key,
        Self::Question,
        Self::Answer,
        Self::Message,
        Self::Suspended,
        Self::NotBegun,
        Self::Result,
        Self::Override,
        Self::Token,
        Self::Pin,
        Self::Generation,
        Self::Vectors,
        Self::Session,
        Self::SessionEntry,
        Self::PushSubscription,
        Self::SessionResult,
    ];

    /// Returns its name in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Background => "background",
            Self::Watcher => "watcher",
            Self::Schedule => "schedule",
            Self::Notification => "notification",
            Self::Script => "script",
            Self::Request => "request",
            Self::Process => "process",
            Self::Key => "key",
            Self::Question => "question",
            Self::Answer => "answer",
            Self::Message => "message",
            Self::Suspended => "suspended",
            Self::NotBegun => "not_begun",
            Self::Result => "result",
            Self::Override => "override",
            Self::Token => "token",
            Self::Pin => "pin",
            Self::Generation => "generation",
            Self::PushSubscription => "push_subscription",
            Self::Vectors => "vectors",
            Self::Session => "session",
            Self::SessionEntry => "session_entry",
            Self::SessionResult => "session_result",
        }
    }

    /// Returns true if other processes are told that a record of this kind was put. Each hint costs the server a lock at
    /// the commit, so kinds that are written for each call have none.
    #[cfg(feature = "postgres")]
    pub(crate) const fn has_hints(self) -> bool {
        matches!(self, Self::Message | Self::Generation)
    }

    /// Returns the maximum size of a record in bytes of JSON.
    pub(crate) const fn max_bytes(self) -> usize {
        match self {
            Self::Script => MAX_SCRIPT_BYTES,
            Self::Message => MAX_MESSAGE_BYTES,
            Self::Pin => MAX_PIN_BYTES,
            Self::Generation | Self::Vectors => MAX_GENERATION_BYTES,
            Self::SessionEntry => MAX_ENTRY_BYTES,
            Self::Result | Self::SessionResult => MAX_RESULT_BYTES,
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
    /// The same with a record that ends after a time, measured by the clock of the store.
    PutFor {
        /// The record.
        record: Record,
        /// The time after which it does not exist any more.
        lifetime: Duration,
    },
    /// Removes a record with its lease. Has no effect if the record does not exist.
    Remove {
        /// Its kind.
        kind: RecordKind,
        /// Its id.
        id: String,
    },
    /// Removes a record with its lease, and refuses the other changes with
    /// [`StoreError::Taken`](super::error::StoreError::Taken) if it does not exist. Of several processes that take a
    /// record, one succeeds.
    Take {
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

    /// Returns the change that takes a record.
    pub fn take(kind: RecordKind, id: impl Into<String>) -> Self {
        Self::Take { kind, id: id.into() }
    }
}
