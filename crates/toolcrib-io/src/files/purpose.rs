//! The purpose of an access to a file.

/// The purpose of an access to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Reading it, listing it, or looking at it.
    Read,
    /// Writing or creating it.
    Write,
}

impl Purpose {
    /// Returns the verb for a message such as "may not … `path`".
    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}
