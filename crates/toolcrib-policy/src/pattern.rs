//! Names, and patterns of names.

use crate::glob::{Glob, Star, check_length};
use crate::{Place, PolicyError};

/// A name or a glob.
#[derive(Debug)]
pub(crate) enum Pattern {
    /// `*`.
    Any,
    /// This name.
    Name(String),
    /// A pattern of names.
    Glob(Glob),
}

impl Pattern {
    pub(crate) fn new(place: &Place, pattern: &str) -> Result<Self, PolicyError> {
        if pattern == "*" {
            return Ok(Self::Any);
        }
        if is_literal(pattern) {
            check_length(place, pattern)?;
            return Ok(Self::Name(pattern.to_owned()));
        }
        Glob::new(place, pattern, pattern, Star::Anything).map(Self::Glob)
    }

    /// The patterns of a list.
    pub(crate) fn list(place: &Place, patterns: &[String]) -> Result<Vec<Self>, PolicyError> {
        patterns.iter().enumerate().map(|(at, pattern)| Self::new(&place.at(at), pattern)).collect()
    }

    pub(crate) fn fits(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Name(own) => own == name,
            Self::Glob(glob) => glob.fits(name),
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
