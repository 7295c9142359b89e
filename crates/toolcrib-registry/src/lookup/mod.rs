//! The lookup of tools by any spelling of their names.

mod overloads;
mod spellings;

use std::collections::BTreeSet;

use smallvec::SmallVec;
use toolcrib_model::name::RUNTIME_NAMESPACE;
use toolcrib_model::{DENIAL_HINT, ErrorKind, QualifiedName, Tool, ToolError};
use toolcrib_port::{Reject, RejectKind};

use crate::{Entry, Snapshot};

pub use overloads::{OverloadError, Overloads};
pub(crate) use spellings::{Spellings, fold};

/// The maximum number of suggestions for an unknown name.
const MAX_SUGGESTIONS: usize = 3;

/// The minimum similarity of two names, from 0 to 1, for one to be suggested for the other.
const MIN_SIMILARITY: f64 = 0.55;

/// The maximum length of a text that is compared with names; a longer text is not a name.
const MAX_SPELLING_BYTES: usize = 1024;

/// The minimum length of a name in which typing errors are corrected.
const MIN_TYPO_BYTES: usize = 6;

/// The maximum edit distance at which a second tool makes a correction ambiguous.
const AMBIGUOUS_DISTANCE: usize = 2;

/// Prefixes that clients put before the names of a server's tools.
const CLIENT_PREFIXES: [&str; 2] = ["mcp__", "mcp."];

/// A failed lookup of a name. It names only tools that the caller may see.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// No tool has the name.
    #[error("there is no tool `{spelling}`")]
    Unknown {
        /// The name as it was given, truncated.
        spelling: String,
        /// The closest names, best first.
        suggestions: Vec<QualifiedName>,
    },
    /// Several tools match the name.
    #[error("`{spelling}` may be any of several tools")]
    Ambiguous {
        /// The name as it was given.
        spelling: String,
        /// The matching names, sorted.
        candidates: Vec<QualifiedName>,
    },
    /// The tool is withheld because it is no longer the one that was approved.
    #[error("the tool `{spelling}` may not be used: {reason}")]
    Changed {
        /// The name as it was given.
        spelling: String,
        /// The reason why the tool is withheld.
        reason: String,
    },
    /// The tool exists, but the caller may not use it. The error reveals nothing else about it.
    #[error("the tool `{spelling}` may not be used here")]
    Hidden {
        /// The name as it was given.
        spelling: String,
    },
}

impl Snapshot {
    /// Returns the tool of this name, in any spelling: `ns::name`, `ns.name`, `ns__name`, or the bare name if only one
    /// tool has it or only one of its tools belongs to the runtime. Any other text is compared without regard to case
    /// and to the kind of separators, and means the tool if exactly one visible tool matches.
    ///
    /// In the snapshot of a session, a name means one of the session's own tools only if it means nothing in the app.
    pub fn find(&self, spelling: &str, visible: impl Fn(&Entry) -> bool) -> Result<Overloads<'_>, FindError> {
        self.find_among(spelling, &|_| true, &visible)
    }

    /// Returns the same for a caller to whom only some tools exist. The others are not found, as if the app did not have
    /// them.
    pub fn find_among(
        &self,
        spelling: &str,
        exists: &dyn Fn(&Tool) -> bool,
        visible: &dyn Fn(&Entry) -> bool,
    ) -> Result<Overloads<'_>, FindError> {
        let Some(layers) = self.layers() else { return self.find_in_any_spelling(spelling, exists, visible) };
        let unknown = match layers.base.find_in_any_spelling(spelling, exists, visible) {
            Err(FindError::Unknown { .. }) => layers.own.find_in_any_spelling(spelling, exists, visible),
            found => return found,
        };
        match unknown {
            Err(FindError::Unknown { spelling, .. }) => {
                let suggestions = self.suggest(&spelling, visible);
                Err(FindError::Unknown { spelling, suggestions })
            }
            found => found,
        }
    }

    /// Returns the tool of this name as [`find_among`](Self::find_among) does. For an unknown name, returns the only
    /// visible tool whose name is one typing error away, unless the name of another tool is nearly as close.
    pub fn find_near(
        &self,
        spelling: &str,
        exists: &dyn Fn(&Tool) -> bool,
        visible: &dyn Fn(&Entry) -> bool,
    ) -> Result<Overloads<'_>, FindError> {
        match self.find_among(spelling, exists, visible) {
            Err(error @ FindError::Unknown { .. }) => {
                self.one_typo_away(spelling.trim(), visible).ok_or(error)
            }
            found => found,
        }
    }

    /// Returns true if the full name of a tool, compared without regard to case and separators, names a tool of this
    /// snapshot.
    pub(crate) fn names_any(&self, name: &QualifiedName) -> bool {
        let text = name.dotted();
        let mut exact = self.spellings().find(&text);
        exact.next().is_some()
            || self.spellings().find_folded(&text, self.tool_names()).iter().any(|places| !places.is_empty())
    }

    fn one_typo_away(&self, spelling: &str, visible: &dyn Fn(&Entry) -> bool) -> Option<Overloads<'_>> {
        let has_length = (MIN_TYPO_BYTES..=MAX_SPELLING_BYTES).contains(&spelling.len());
        if !has_length || spelling.contains(char::is_control) {
            return None;
        }
        let given = normalized(spelling);
        let distance = |name: &QualifiedName| {
            let distance = |text: &str| match text.chars().count().abs_diff(given.chars().count()) {
                ..=AMBIGUOUS_DISTANCE => strsim::damerau_levenshtein(&given, text),
                further => further,
            };
            // A short name without its namespace is one error away from too many others.
            let bare = Some(name.name()).filter(|bare| bare.len() >= MIN_TYPO_BYTES);
            distance(&normalized(&name.dotted()))
                .min(bare.map_or(usize::MAX, |bare| distance(&normalized(bare))))
        };
        let near = self
            .tool_names()
            .map(|name| (distance(name), name))
            .filter(|(distance, _)| *distance <= AMBIGUOUS_DISTANCE);
        let mut near =
            near.filter_map(|(distance, name)| Some((distance, self.get(name)?.visible(visible)?)));
        match (near.next(), near.next()) {
            (Some((1, overloads)), None) => Some(overloads),
            _ => None,
        }
    }

    fn find_in_any_spelling(
        &self,
        spelling: &str,
        exists: &dyn Fn(&Tool) -> bool,
        visible: &dyn Fn(&Entry) -> bool,
    ) -> Result<Overloads<'_>, FindError> {
        let spelling = spelling.trim();
        let is_there = |at: &usize| {
            self.overloads(*at).is_some_and(|overloads| overloads.iter().any(|entry| exists(&entry.tool)))
        };
        let mut candidates = self.spellings().find(spelling).filter(is_there).peekable();
        if candidates.peek().is_none() {
            if let Some(reject) = self.changed_reject(spelling, exists) {
                return Err(FindError::Changed {
                    spelling: truncated(spelling),
                    reason: reject.reason.clone(),
                });
            }
            let found = self.find_folded(spelling, visible);
            return match found {
                Err(FindError::Unknown { .. }) => {
                    let mut rests = without_client_prefix(spelling).into_iter().flatten();
                    rests
                        .find_map(|rest| self.find_in_any_spelling(rest, exists, visible).ok())
                        .map_or(found, Ok)
                }
                found => found,
            };
        }
        match self.only_visible(candidates, visible) {
            Ok(found) => found.ok_or_else(|| FindError::Hidden { spelling: truncated(spelling) }),
            Err(candidates) => Err(FindError::Ambiguous { spelling: truncated(spelling), candidates }),
        }
    }

    /// Returns the only visible tool of these, or the only one of them that belongs to the runtime, whose names models
    /// are taught; `None` if none is visible. The error lists all visible candidates.
    fn only_visible(
        &self,
        places: impl Iterator<Item = usize>,
        visible: impl Fn(&Entry) -> bool,
    ) -> Result<Option<Overloads<'_>>, Vec<QualifiedName>> {
        let mut seen: SmallVec<[_; 1]> = SmallVec::new();
        seen.extend(places.filter_map(|at| {
            let overloads = self.overloads(at)?.visible(&visible)?;
            Some((self.name(at)?, overloads))
        }));
        if seen.len() > 1 {
            let is_own = |(name, _): &(&QualifiedName, _)| name.namespace() == RUNTIME_NAMESPACE;
            if seen.iter().filter(|tool| is_own(tool)).count() != 1 {
                return Err(seen.into_iter().map(|(name, _)| name.clone()).collect());
            }
            seen.retain(|tool| is_own(tool));
        }
        Ok(seen.pop().map(|(_, overloads)| overloads))
    }

    fn find_folded(
        &self,
        spelling: &str,
        visible: &dyn Fn(&Entry) -> bool,
    ) -> Result<Overloads<'_>, FindError> {
        let places = match spelling.len() {
            ..=MAX_SPELLING_BYTES => self.spellings().find_folded(spelling, self.tool_names()),
            _ => [&[][..], &[]],
        };
        for places in places {
            match self.only_visible(places.iter().copied(), visible) {
                Ok(Some(overloads)) => return Ok(overloads),
                Ok(None) => {}
                Err(candidates) => {
                    return Err(FindError::Ambiguous { spelling: truncated(spelling), candidates });
                }
            }
        }
        let suggestions = self.suggest(spelling, visible);
        Err(FindError::Unknown { spelling: truncated(spelling), suggestions })
    }

    /// Returns the reject of a tool with this name that did not load because it has changed.
    fn changed_reject(&self, spelling: &str, exists: &dyn Fn(&Tool) -> bool) -> Option<&Reject> {
        let given = normalized(spelling.get(..MAX_SPELLING_BYTES).unwrap_or(spelling));
        let mut changed = self.rejected().iter().filter(|reject| reject.kind == RejectKind::Changed);
        let means = |name: &str| {
            let bare = name.split_once('.').map_or(name, |(_, bare)| bare);
            normalized(name) == given || normalized(bare) == given
        };
        let is_there = |name: &str, source: &str| {
            let name =
                name.split_once('.').and_then(|(namespace, name)| QualifiedName::new(namespace, name).ok());
            name.is_none_or(|name| exists(&Tool::new(name).with_source(source.into())))
        };
        changed.find(|reject| {
            reject.name.as_deref().is_some_and(|name| means(name) && is_there(name, &reject.source))
        })
    }

    /// Returns the closest names that the caller may see: by edit distance, by common words, by ending.
    pub fn suggest(&self, spelling: &str, visible: &dyn Fn(&Entry) -> bool) -> Vec<QualifiedName> {
        if spelling.len() > MAX_SPELLING_BYTES {
            return Vec::new();
        }
        let given = normalized(spelling);
        let mut near: Vec<(f64, &QualifiedName)> = self
            .tool_names()
            .map(|name| (similarity(&given, name), name))
            .filter(|(similarity, name)| {
                *similarity >= MIN_SIMILARITY
                    && self.get(name).is_some_and(|tools| tools.visible(visible).is_some())
            })
            .collect();
        // A name that begins with an existing namespace means one of its tools.
        let is_named = |name: &QualifiedName| {
            let namespace = normalized(name.namespace());
            given.strip_prefix(&namespace).is_some_and(|rest| rest.starts_with(' '))
        };
        if near.iter().any(|(_, name)| is_named(name)) {
            near.retain(|(_, name)| is_named(name));
        }
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        near.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name.clone()).collect()
    }
}

/// Returns the possible names behind the prefixes that clients put before them: `mcp__` and the name of the server.
fn without_client_prefix(spelling: &str) -> Option<[&str; 2]> {
    let rest = CLIENT_PREFIXES.iter().find_map(|prefix| spelling.strip_prefix(prefix))?;
    let after_server = rest.split_once("__").map_or(rest, |(_, rest)| rest);
    Some([rest, after_server])
}

fn truncated(spelling: &str) -> String {
    spelling.chars().filter(|c| !c.is_control()).take(120).collect()
}

/// Returns the text in lower case, with every run of separators as a space.
fn normalized(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    spaced.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn similarity(given: &str, name: &QualifiedName) -> f64 {
    let bare = normalized(name.name());
    let full = normalized(&name.dotted());
    let edits = strsim::normalized_damerau_levenshtein(given, &bare)
        .max(strsim::normalized_damerau_levenshtein(given, &full));
    let given_words: BTreeSet<_> = given.split(' ').collect();
    let bare_words: BTreeSet<_> = bare.split(' ').collect();
    let common = given_words.intersection(&bare_words).count();
    // The numbers of words are small.
    #[expect(clippy::cast_precision_loss, reason = "a name has at most a few hundred words")]
    let words = common as f64 / given_words.len().min(bare_words.len()).max(1) as f64 * 0.8;
    let ending = if given.ends_with(&bare) || bare.ends_with(given) { 0.75 } else { 0.0 };
    edits.max(words).max(ending)
}

impl From<&FindError> for ToolError {
    fn from(error: &FindError) -> Self {
        let message = error.to_string();
        match error {
            FindError::Unknown { suggestions, .. } if suggestions.is_empty() => {
                Self::new(ErrorKind::UnknownTool, message)
                    .with_hint("search for a tool, or list what there is")
            }
            FindError::Unknown { suggestions, .. } => Self::new(ErrorKind::UnknownTool, message)
                .with_hint(format!("did you mean {}?", list(suggestions))),
            FindError::Ambiguous { candidates, .. } => Self::new(ErrorKind::AmbiguousTool, message)
                .with_hint(format!("use the full name: {}", list(candidates))),
            FindError::Changed { .. } => Self::new(ErrorKind::ToolChanged, message).with_hint(
                "tell the user that the tool has changed and waits for approval; do not call it again before",
            ),
            FindError::Hidden { .. } => Self::new(ErrorKind::Denied, message).with_hint(DENIAL_HINT),
        }
    }
}

/// The maximum number of names in one sentence.
const MAX_LISTED_NAMES: usize = 10;

fn list(names: &[QualifiedName]) -> String {
    let mut shown: Vec<_> =
        names.iter().take(MAX_LISTED_NAMES).map(|name| format!("`{}`", name.shown())).collect();
    if names.len() > MAX_LISTED_NAMES {
        shown.push(format!("{} more", names.len() - MAX_LISTED_NAMES));
    }
    match shown.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}
