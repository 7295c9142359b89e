//! Descriptions that are empty or copied.

use std::collections::{BTreeMap, HashSet};

use toolcrib_model::QualifiedName;
use toolcrib_model::text::words_of_name;

use super::{Kind, RawFinding, Tools};

/// Words that carry no information about a tool.
const EMPTY_WORDS: &[&str] = &["a", "an", "for", "function", "in", "of", "the", "this", "to", "tool"];

/// Returns the tools without a description, or with one that only repeats the name.
pub(super) fn empty<'a>(tools: &Tools<'a>) -> Vec<RawFinding<'a>> {
    let found = tools.iter().filter_map(|(name, (_, overloads))| {
        let said: Vec<_> = overloads.iter().map(|tool| words_of_name(&tool.description)).collect();
        let message = if said.iter().any(Vec::is_empty) {
            "it has no description, so it is found only by its name"
        } else if said.iter().any(|words| repeats_its_name(name, words)) {
            "its description only repeats its name"
        } else {
            return None;
        };
        Some(RawFinding {
            kind: Kind::EmptyDescription,
            names: vec![*name],
            message: message.into(),
            next: "describe in a sentence what it does and when to use it",
        })
    });
    found.collect()
}

fn repeats_its_name(name: &QualifiedName, words: &[String]) -> bool {
    let mut known = words_of_name(name.name());
    known.extend(words_of_name(name.namespace()));
    words
        .iter()
        .all(|word| EMPTY_WORDS.contains(&word.as_str()) || known.iter().any(|known| is_form(word, known)))
}

/// Returns true if a word is another word, with an optional ending.
fn is_form(word: &str, known: &str) -> bool {
    word == known || word.strip_prefix(known).is_some_and(|ending| matches!(ending, "s" | "es" | "ing"))
}

/// Returns the tools with identical descriptions, ignoring case, space and punctuation; without those that are reported
/// as near duplicates already.
pub(super) fn copied<'a>(tools: &Tools<'a>, duplicates: &[RawFinding<'a>]) -> Vec<RawFinding<'a>> {
    let mut groups: BTreeMap<Vec<String>, Vec<&'a QualifiedName>> = BTreeMap::new();
    for (name, (_, overloads)) in tools {
        let texts: HashSet<Vec<String>> =
            overloads.iter().map(|tool| words_of_name(&tool.description)).collect();
        for text in texts.into_iter().filter(|text| !text.is_empty()) {
            groups.entry(text).or_default().push(name);
        }
    }
    let is_told = |names: &[&QualifiedName]| {
        duplicates.iter().any(|group| names.iter().all(|name| group.names.contains(name)))
    };
    let mut found: Vec<RawFinding<'a>> = groups
        .into_values()
        .filter(|names| names.len() > 1 && !is_told(names))
        .map(|names| RawFinding {
            kind: Kind::CopiedDescription,
            names,
            message: "they have the same description, so a model cannot tell them apart".into(),
            next: "describe in each what distinguishes it",
        })
        .collect();
    found.sort_by(|one, other| one.names.cmp(&other.names));
    found
}
