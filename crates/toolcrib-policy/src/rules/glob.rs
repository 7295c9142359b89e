//! Globs, compiled within bounds.

use globset::GlobBuilder;
use regex::bytes::{Regex, RegexBuilder};

use crate::{PolicyError, SettingLocation};

/// The most bytes of a pattern of names or paths.
const MAX_PATTERN_BYTES: usize = 1000;

/// The most bytes that a pattern may take once it is compiled.
const MAX_COMPILED_BYTES: usize = 1024 * 1024;

/// A glob. It takes time linear in the text that it is tried on.
#[derive(Debug)]
pub(crate) struct Glob(Regex);

/// The text that a `*` matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Star {
    /// Anything.
    Anything,
    /// Text within one folder; `**` matches across folders.
    Folder,
}

impl Glob {
    /// Compiles a glob; `given` is how it was written.
    pub(crate) fn new(
        place: &SettingLocation,
        given: &str,
        glob: &str,
        star: Star,
    ) -> Result<Self, PolicyError> {
        check_length(place, given)?;
        let wrong = |source: Box<dyn std::error::Error + Send + Sync>| PolicyError::Pattern {
            place: place.clone(),
            pattern: given.to_owned(),
            source,
        };
        let parsed = GlobBuilder::new(glob).literal_separator(star == Star::Folder).build();
        let parsed = parsed.map_err(|source| wrong(source.into()))?;
        // Its own matcher panics where the compiled form gets too large or too deep.
        let regex = RegexBuilder::new(parsed.regex())
            .dot_matches_new_line(true)
            .size_limit(MAX_COMPILED_BYTES)
            .build();
        regex.map(Self).map_err(|source| wrong(source.into()))
    }

    pub(crate) fn fits(&self, text: &str) -> bool {
        self.0.is_match(text.as_bytes())
    }
}

pub(crate) fn check_length(place: &SettingLocation, pattern: &str) -> Result<(), PolicyError> {
    if pattern.len() <= MAX_PATTERN_BYTES {
        return Ok(());
    }
    Err(PolicyError::TooMany {
        place: place.clone(),
        what: "bytes of a pattern",
        count: pattern.len(),
        limit: MAX_PATTERN_BYTES,
    })
}
