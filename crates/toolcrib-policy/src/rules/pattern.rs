//! Names, and patterns of names.

use crate::rules::glob::{Glob, Star, check_length};
use crate::{PolicyError, SettingLocation};

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
    pub(crate) fn new(place: &SettingLocation, pattern: &str) -> Result<Self, PolicyError> {
        if pattern == "*" {
            return Ok(Self::Any);
        }
        if is_literal(pattern) {
            check_length(place, pattern)?;
            return Ok(Self::Name(pattern.to_owned()));
        }
        Glob::new(place, pattern, pattern, Star::Anything).map(Self::Glob)
    }

    /// Returns the patterns of a list.
    pub(crate) fn list(place: &SettingLocation, patterns: &[String]) -> Result<Vec<Self>, PolicyError> {
        patterns.iter().enumerate().map(|(at, pattern)| Self::new(&place.at(at), pattern)).collect()
    }

    pub(crate) fn fits(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Name(own) => own == name,
            Self::Glob(glob) => glob.fits(name),
        }
    }

    /// Returns true if the pattern matches exactly one name.
    pub(crate) fn is_name(&self) -> bool {
        matches!(self, Self::Name(_))
    }
}

/// Returns true if a pattern has no special character.
fn is_literal(pattern: &str) -> bool {
    !pattern.contains(['*', '?', '[', ']', '{', '}', '\\'])
}
