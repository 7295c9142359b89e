//! What is kept.

use serde_json::Value;

/// How large a record may be, in bytes of JSON.
pub const MAX_RECORD_BYTES: usize = 1024 * 1024;

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// A call in the background.
    Background,
    /// A watcher.
    Watcher,
    /// A schedule.
    Schedule,
    /// A notification that nobody has read.
    Notification,
    /// What an operator asks the process for that has the store.
    Request,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Background, Self::Watcher, Self::Schedule, Self::Notification, Self::Request];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Background => "background",
            Self::Watcher => "watcher",
            Self::Schedule => "schedule",
            Self::Notification => "notification",
            Self::Request => "request",
        }
    }
}

/// Something that is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What it is about.
    pub kind: Kind,
    /// Its id, which no other of its kind has.
    pub id: String,
    /// The session that it belongs to.
    pub session: String,
    /// What it says.
    pub body: Value,
}

/// A change of what is kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Keeps a record, in place of the one of its kind and id.
    Put(Record),
    /// Forgets one. That there is none is fine.
    Remove {
        /// Its kind.
        kind: Kind,
        /// Its id.
        id: String,
    },
}

impl Change {
    /// Forgets a record.
    pub fn remove(kind: Kind, id: impl Into<String>) -> Self {
        Self::Remove { kind, id: id.into() }
    }
}
