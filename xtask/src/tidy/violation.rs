//! What a check finds.

use std::fmt;

/// A broken rule: where, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Violation {
    /// A crate's name, or a path relative to the root.
    place: String,
    /// Counted from 1; none when the whole crate or file is meant.
    line: Option<usize>,
    message: String,
}

impl Violation {
    /// A rule broken by a crate, or by a file as a whole.
    pub(super) fn of(place: &str, message: impl Into<String>) -> Self {
        Self { place: place.to_owned(), line: None, message: message.into() }
    }

    /// A rule broken on one line of a file.
    pub(super) fn at(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { place: path.to_owned(), line: Some(line), message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:", self.place)?;
        if let Some(line) = self.line {
            write!(formatter, "{line}:")?;
        }
        write!(formatter, " {}", self.message)
    }
}
