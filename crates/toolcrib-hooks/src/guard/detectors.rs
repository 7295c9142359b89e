//! The compiled patterns of a guard, and their matches.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use toolcrib_document::nearest;
use toolcrib_model::text::pointer_part;

use super::GuardAction;
use super::built_in::{BUILT_IN, TOKEN, is_token, token_pattern};
use crate::SettingError;

/// The maximum number of own patterns.
pub const MAX_PATTERNS: usize = 64;

/// The maximum length of an own pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 2_000;

/// The maximum length of the name of a pattern.
const MAX_NAME_CHARS: usize = 64;

/// The maximum memory of one compiled pattern, in bytes.
const MAX_COMPILED_BYTES: usize = 1024 * 1024;

/// The maximum memory of all patterns together, in bytes.
const MAX_SET_BYTES: usize = 32 * 1024 * 1024;

/// The patterns of a guard.
#[derive(Debug)]
pub(super) struct Detectors {
    /// All patterns at once: few texts match any.
    set: RegexSet,
    all: Vec<Detector>,
}

#[derive(Debug)]
struct Detector {
    name: Arc<str>,
    group: Option<&'static str>,
    regex: Regex,
    is_valid: fn(&str) -> bool,
}

/// The matches in a result.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// The number of replaced matches, by pattern.
    pub(super) redacted: BTreeMap<Arc<str>, usize>,
    /// The first pattern that blocks the result.
    pub(super) blocked: Option<Arc<str>>,
}

impl Detectors {
    /// Compiles the built-in patterns and these.
    pub(super) fn new(own: &BTreeMap<String, String>) -> Result<Self, SettingError> {
        if own.len() > MAX_PATTERNS {
            let message = format!("there are {} patterns, and at most {MAX_PATTERNS} are taken", own.len());
            return Err(SettingError::new("/patterns", message));
        }
        let tokens = token_pattern();
        let built_in = BUILT_IN.iter().map(|one| (one.name, Some(one.group), one.pattern, one.is_valid));
        let token: (_, _, _, fn(&str) -> bool) = (TOKEN.0, Some(TOKEN.1), tokens.as_str(), is_token);
        let mut all = Vec::new();
        for (name, group, pattern, is_valid) in built_in.chain([token]) {
            let regex = compiled(pattern).map_err(|error| SettingError::new("", error))?;
            all.push(Detector { name: name.into(), group, regex, is_valid });
        }
        for (name, pattern) in own {
            let wrong = |message| SettingError::new(format!("/patterns/{}", pointer_part(name)), message);
            check_name(name, &all).map_err(wrong)?;
            if pattern.len() > MAX_PATTERN_BYTES {
                return Err(wrong(format!("the pattern is longer than {MAX_PATTERN_BYTES} bytes")));
            }
            let regex = compiled(pattern).map_err(wrong)?;
            if regex.is_match("") {
                return Err(wrong("the pattern matches the empty text, so it would match everywhere".into()));
            }
            all.push(Detector { name: name.as_str().into(), group: None, regex, is_valid: |_| true });
        }
        let set =
            RegexSetBuilder::new(all.iter().map(|one| one.regex.as_str())).size_limit(MAX_SET_BYTES).build();
        let set = set.map_err(|error| SettingError::new("/patterns", error.to_string()))?;
        Ok(Self { set, all })
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the positions of the patterns that a list names, also by their groups.
    pub(super) fn named(&self, names: &[String]) -> Result<Vec<usize>, SettingError> {
        if names.is_empty() {
            return Err(SettingError::new(
                "/detect",
                "`detect` is empty; name a pattern, or a group such as `pii`",
            ));
        }
        let mut positions = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let is_meant = |one: &Detector| *one.name == **name || one.group == Some(name);
            let before = positions.len();
            positions.extend(self.all.iter().enumerate().filter(|(_, one)| is_meant(one)).map(|(at, _)| at));
            if positions.len() == before {
                let message = self.unknown(name);
                return Err(SettingError::new(format!("/detect/{at}"), message));
            }
        }
        Ok(positions)
    }

    fn unknown(&self, name: &str) -> String {
        let known = self.all.iter().flat_map(|one| [Some(&*one.name), one.group]).flatten();
        if let Some(meant) = nearest(name, known.clone()) {
            return format!("unknown pattern `{name}`, did you mean `{meant}`?");
        }
        let known: BTreeSet<&str> = known.collect();
        let known: Vec<&str> = known.into_iter().collect();
        format!("unknown pattern `{name}`; there is: {}", known.join(", "))
    }

    /// Returns a text without the matches that are redacted or blocked, or `None` if it has none.
    pub(super) fn redacted(
        &self,
        text: &str,
        actions: &[GuardAction],
        found: &mut Findings,
    ) -> Option<String> {
        let matching = self.set.matches(text);
        if !matching.matched_any() {
            return None;
        }
        let mut matches: Vec<(Range<usize>, &Detector)> = Vec::new();
        for position in &matching {
            let (Some(detector), Some(action)) = (self.all.get(position), actions.get(position)) else {
                continue;
            };
            if *action == GuardAction::Allow {
                continue;
            }
            let of_one = detector.regex.find_iter(text).filter(|found| (detector.is_valid)(found.as_str()));
            let before = matches.len();
            matches.extend(of_one.map(|found| (found.range(), detector)));
            if *action == GuardAction::Block && matches.len() > before {
                found.blocked.get_or_insert_with(|| Arc::clone(&detector.name));
            }
        }
        if matches.is_empty() {
            return None;
        }
        // Of matches that overlap, the union is removed under the name of the first.
        matches.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let mut edited = String::with_capacity(text.len());
        let mut done = 0;
        for (range, detector) in matches {
            if range.start >= done {
                edited.push_str(text.get(done..range.start).unwrap_or_default());
                edited.push_str("[redacted: ");
                edited.push_str(&detector.name);
                edited.push(']');
                *found.redacted.entry(Arc::clone(&detector.name)).or_default() += 1;
            }
            done = done.max(range.end);
        }
        edited.push_str(text.get(done..).unwrap_or_default());
        Some(edited)
    }
}

fn compiled(pattern: &str) -> Result<Regex, String> {
    let regex = RegexBuilder::new(pattern).size_limit(MAX_COMPILED_BYTES).build();
    regex.map_err(|error| format!("the pattern is no regular expression: {error}"))
}

fn check_name(name: &str, known: &[Detector]) -> Result<(), String> {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if name.is_empty() || name.len() > MAX_NAME_CHARS || !is_plain {
        return Err(format!(
            "`{name}` is not a name: letters, digits, `-` and `_`, {MAX_NAME_CHARS} at most"
        ));
    }
    if known.iter().any(|one| *one.name == *name || one.group == Some(name)) {
        return Err(format!("`{name}` is the name of a built-in pattern or group; choose another"));
    }
    Ok(())
}
