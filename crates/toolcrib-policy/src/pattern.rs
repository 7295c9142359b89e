//! Names, and patterns of names.

use globset::{Glob, GlobMatcher};

use crate::{Place, PolicyError};

/// A name or a glob.
#[derive(Debug)]
pub(crate) enum Pattern {
    /// `*`.
    Any,
    /// This name.
    Name(String),
    /// A pattern of names.
    Glob(GlobMatcher),
}

impl Pattern {
    pub(crate) fn new(place: &Place, pattern: &str) -> Result<Self, PolicyError> {
        if pattern == "*" {
            return Ok(Self::Any);
        }
        if is_literal(pattern) {
            return Ok(Self::Name(pattern.to_owned()));
        }
        match Glob::new(pattern) {
            Ok(glob) => Ok(Self::Glob(glob.compile_matcher())),
            Err(source) => {
                Err(PolicyError::Pattern { place: place.clone(), pattern: pattern.to_owned(), source })
            }
        }
    }

    /// The patterns of a list.
    pub(crate) fn list(place: &Place, patterns: &[String]) -> Result<Vec<Self>, PolicyError> {
        patterns.iter().enumerate().map(|(at, pattern)| Self::new(&place.at(at), pattern)).collect()
    }

    pub(crate) fn fits(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Name(own) => own == name,
            Self::Glob(glob) => glob.is_match(name),
        }
    }

    /// Whether it means one name.
    pub(crate) fn is_name(&self) -> bool {
        matches!(self, Self::Name(_))
    }
}

/// Whether a pattern has no character that means another thing than itself.
fn is_literal(pattern: &str) -> bool {
    !pattern.contains(['*', '?', '[', ']', '{', '}', '\\'])
}
