//! From any spelling of a name to the tool.

use std::collections::BTreeSet;

use smallvec::SmallVec;
use toolcrib_model::{DENIAL_HINT, ErrorKind, QualifiedName, RUNTIME_NAMESPACE, ToolError};
use toolcrib_port::{Reject, RejectKind};

use crate::{Entry, Overloads, Snapshot};

/// The most names that are offered in place of one that is not there.
pub const MAX_SUGGESTIONS: usize = 3;

/// How alike two names must be, from 0 to 1, before one is offered for the other.
const MIN_LIKENESS: f64 = 0.55;

/// The longest text that is compared with names; a longer one is no name.
const MAX_SPELLING_BYTES: usize = 1024;

/// The fewest bytes of a name in which a slip of the keys is looked for.
const MIN_SLIP_BYTES: usize = 6;

/// The edits within which another tool is nearly as near as one that is a single edit away.
const NEARLY: usize = 2;

/// Prefixes that clients put before the names of the tools of their servers.
const CLIENT_PREFIXES: [&str; 2] = ["mcp__", "mcp."];

/// A name that does not say which tool is meant. Only tools that the caller may see are named in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// No tool has the name.
    #[error("there is no tool `{spelling}`")]
    Unknown {
        /// The name as it was given, cut to a sane length.
        spelling: String,
        /// The nearest names, best first.
        suggestions: Vec<QualifiedName>,
    },
    /// Several tools have it.
    #[error("`{spelling}` may be any of several tools")]
    Ambiguous {
        /// The name as it was given.
        spelling: String,
        /// What it may mean, sorted.
        candidates: Vec<QualifiedName>,
    },
    /// The tool is held back, because it is no longer the one that was approved.
    #[error("the tool `{spelling}` may not be used: {reason}")]
    Changed {
        /// The name as it was given.
        spelling: String,
        /// What became of it.
        reason: String,
    },
    /// The tool is there, and the caller may not use it. Nothing else is said about it.
    #[error("the tool `{spelling}` may not be used here")]
    Hidden {
        /// The name as it was given.
        spelling: String,
    },
}

impl Snapshot {
    /// The tool of this name, in any spelling: `ns::name`, `ns.name`, `ns__name`, or the bare name where only one tool
    /// has it, or one of the runtime itself. A text that is none of them is compared without regard to case and to the kind of separators, and means
    /// the tool when only one that may be seen fits.
    ///
    /// In the snapshot of a session, the session's own tools are meant only by what means nothing in the app.
    pub fn find(&self, spelling: &str, visible: impl Fn(&Entry) -> bool) -> Result<Overloads<'_>, FindError> {
        // The type of `visible` must not grow with each step.
        let visible: &dyn Fn(&Entry) -> bool = &visible;
        let Some(layers) = self.layers() else { return self.find_in_any_spelling(spelling, visible) };
        let unknown = match layers.base.find_in_any_spelling(spelling, visible) {
            Err(FindError::Unknown { .. }) => layers.own.find_in_any_spelling(spelling, visible),
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

    /// Returns the tool of this name as [`find`](Self::find) does; of a name that is unknown, the only tool that may be
    /// seen whose name is one slip of the keys away, where no other is nearly as near.
    pub fn find_near(
        &self,
        spelling: &str,
        visible: impl Fn(&Entry) -> bool,
    ) -> Result<Overloads<'_>, FindError> {
        match self.find(spelling, &visible) {
            Err(error @ FindError::Unknown { .. }) => {
                self.one_slip_away(spelling.trim(), &visible).ok_or(error)
            }
            found => found,
        }
    }

    /// Returns true if the full name of a tool, read without regard to case and separators, names a tool here.
    pub(crate) fn names_any(&self, name: &QualifiedName) -> bool {
        let text = name.dotted();
        let mut exact = self.spellings().find(&text);
        exact.next().is_some()
            || self.spellings().find_folded(&text, self.tool_names()).iter().any(|places| !places.is_empty())
    }

    fn one_slip_away(&self, spelling: &str, visible: &dyn Fn(&Entry) -> bool) -> Option<Overloads<'_>> {
        let has_length = (MIN_SLIP_BYTES..=MAX_SPELLING_BYTES).contains(&spelling.len());
        if !has_length || spelling.contains(char::is_control) {
            return None;
        }
        let given = plain(spelling);
        let distance = |name: &QualifiedName| {
            let distance = |text: &str| match text.chars().count().abs_diff(given.chars().count()) {
                ..=NEARLY => strsim::damerau_levenshtein(&given, text),
                further => further,
            };
            // A short name without its namespace is one slip from too much.
            let bare = Some(name.name()).filter(|bare| bare.len() >= MIN_SLIP_BYTES);
            distance(&plain(&name.dotted())).min(bare.map_or(usize::MAX, |bare| distance(&plain(bare))))
        };
        let near =
            self.tool_names().map(|name| (distance(name), name)).filter(|(distance, _)| *distance <= NEARLY);
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
        visible: &dyn Fn(&Entry) -> bool,
    ) -> Result<Overloads<'_>, FindError> {
        let spelling = spelling.trim();
        let mut candidates = self.spellings().find(spelling).peekable();
        if candidates.peek().is_none() {
            if let Some(reject) = self.held_back(spelling) {
                return Err(FindError::Changed { spelling: cut(spelling), reason: reject.reason.clone() });
            }
            let found = self.find_folded(spelling, visible);
            return match found {
                Err(FindError::Unknown { .. }) => {
                    let mut rests = without_client_prefix(spelling).into_iter().flatten();
                    rests.find_map(|rest| self.find_in_any_spelling(rest, visible).ok()).map_or(found, Ok)
                }
                found => found,
            };
        }
        match self.one_of(candidates, visible) {
            Ok(found) => found.ok_or_else(|| FindError::Hidden { spelling: cut(spelling) }),
            Err(candidates) => Err(FindError::Ambiguous { spelling: cut(spelling), candidates }),
        }
    }

    /// Returns the only one of these tools that may be seen, or the only one of them that is the runtime's own, whose
    /// names models are taught; `None` where none may be seen. An error lists all that may.
    fn one_of(
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
            match self.one_of(places.iter().copied(), visible) {
                Ok(Some(overloads)) => return Ok(overloads),
                Ok(None) => {}
                Err(candidates) => {
                    return Err(FindError::Ambiguous { spelling: cut(spelling), candidates });
                }
            }
        }
        let suggestions = self.suggest(spelling, visible);
        Err(FindError::Unknown { spelling: cut(spelling), suggestions })
    }

    /// The tool of this name that did not load because it has changed.
    fn held_back(&self, spelling: &str) -> Option<&Reject> {
        let given = plain(spelling.get(..MAX_SPELLING_BYTES).unwrap_or(spelling));
        let mut changed = self.rejected().iter().filter(|reject| reject.kind == RejectKind::Changed);
        let means = |name: &str| {
            let bare = name.split_once('.').map_or(name, |(_, bare)| bare);
            plain(name) == given || plain(bare) == given
        };
        changed.find(|reject| reject.name.as_deref().is_some_and(means))
    }

    /// The nearest names that the caller may see: by edit distance, by words in common, by ending.
    pub fn suggest(&self, spelling: &str, visible: &dyn Fn(&Entry) -> bool) -> Vec<QualifiedName> {
        if spelling.len() > MAX_SPELLING_BYTES {
            return Vec::new();
        }
        let given = plain(spelling);
        let mut near: Vec<(f64, &QualifiedName)> = self
            .tool_names()
            .map(|name| (likeness(&given, name), name))
            .filter(|(likeness, name)| {
                *likeness >= MIN_LIKENESS
                    && self.get(name).is_some_and(|tools| tools.visible(visible).is_some())
            })
            .collect();
        // Who names a namespace that is there means one of its tools.
        let is_named = |name: &QualifiedName| {
            let namespace = plain(name.namespace());
            given.strip_prefix(&namespace).is_some_and(|rest| rest.starts_with(' '))
        };
        if near.iter().any(|(_, name)| is_named(name)) {
            near.retain(|(_, name)| is_named(name));
        }
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        near.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name.clone()).collect()
    }
}

/// Returns what a name may be without the prefixes that clients put before it: `mcp__` and the name of the server that it
/// came from.
fn without_client_prefix(spelling: &str) -> Option<[&str; 2]> {
    let rest = CLIENT_PREFIXES.iter().find_map(|prefix| spelling.strip_prefix(prefix))?;
    let behind_server = rest.split_once("__").map_or(rest, |(_, rest)| rest);
    Some([rest, behind_server])
}

fn cut(spelling: &str) -> String {
    spelling.chars().filter(|c| !c.is_control()).take(120).collect()
}

/// Lower case, with every separator as a space.
fn plain(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    spaced.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn likeness(given: &str, name: &QualifiedName) -> f64 {
    let bare = plain(name.name());
    let full = plain(&name.dotted());
    let edits = strsim::normalized_damerau_levenshtein(given, &bare)
        .max(strsim::normalized_damerau_levenshtein(given, &full));
    let given_words: BTreeSet<_> = given.split(' ').collect();
    let bare_words: BTreeSet<_> = bare.split(' ').collect();
    let common = given_words.intersection(&bare_words).count();
    // Counts of words are small.
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

/// The most names in one sentence.
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
