//! Checks of the language: doc comments, comments, messages, documentation and type names.
//!
//! Tests are free to name what they promise as they like; everything that ships is checked.

use std::collections::BTreeMap;

use super::TextFile;
use super::rules::CRATES_FOLDER;
use super::violation::Violation;
use crate::sources::prose;

/// Words that may not open a doc comment. A doc comment states what an item is or does.
const QUESTION_WORDS: &[&str] = &[
    "What", "Whatever", "When", "Where", "Whether", "Which", "Who", "Whoever", "Whom", "Whose", "Why", "How",
];

/// Phrases that may not stand in comments, messages or documentation, each with a replacement.
///
/// Each is written in two halves, so that this table does not report itself.
const IDIOMS: &[(&str, &str)] = &[
    (concat!("a", "new"), "again"),
    (concat!("as far ", "as"), "where, to the extent that"),
    (concat!("bes", "ide"), "next to, in addition to"),
    (concat!("bes", "ides"), "also, in addition"),
    (concat!("goes ", "on"), "continues"),
    (concat!("is ", "wanted"), "expected X, found Y"),
    (concat!("is ", "none"), "is not one, is invalid"),
    (concat!("are ", "none"), "are not, are invalid"),
    (concat!("was ", "none"), "was not one, was invalid"),
    (concat!("were ", "none"), "were not, were invalid"),
    (concat!("no more ", "than a"), "at most"),
    (concat!("no", "body"), "no caller, no user, nothing"),
    (concat!("of its ", "own"), "separate, its"),
    (concat!("of one's ", "own"), "custom, separate"),
    (concat!("of ", "ours"), "our, the project's"),
    (concat!("of ", "theirs"), "their"),
    (concat!("one ", "likes"), "any"),
    (concat!("says of ", "itself"), "declares"),
    (concat!("so ", "long"), "while, as long as"),
    (concat!("so ", "many"), "that many, a limited number of"),
    (concat!("so ", "much"), "that much"),
    (concat!("some", "body"), "a user, a caller, another process"),
    (concat!("speaks ", "of"), "mentions, describes"),
    (concat!("stand ", "for"), "represent"),
    (concat!("stands ", "for"), "represents"),
    (concat!("stands ", "by itself"), "is independent"),
    (concat!("stands ", "twice"), "is duplicated"),
    (concat!("that is ", "no"), "that is not a"),
    (concat!("what ", "becomes of"), "the result of"),
    (concat!("what ", "came of"), "the result of"),
    (concat!("what", "ever"), "any, regardless of"),
    (concat!("who", "ever"), "the caller, anyone who"),
    (concat!("whom", "ever"), "anyone"),
];

/// Type names that say nothing about what the type is.
const VAGUE_TYPES: &[&str] = &[
    "Above",
    "Asked",
    "Attended",
    "Beginning",
    "Desk",
    "Door",
    "Ended",
    "Entrance",
    "Fold",
    "Found",
    "Given",
    "Gone",
    "Heard",
    "Kept",
    "Known",
    "Lending",
    "Meant",
    "Office",
    "Open",
    "Part",
    "Place",
    "Put",
    "Room",
    "Said",
    "Told",
    "Visit",
    "Way",
    "Ways",
    "Wiring",
];

/// The names that every crate may give to several types.
const SHARED_TYPES: &[&str] = &["Error", "Result"];

/// Returns true for the sources of crates that ship, which excludes tests.
pub(super) fn is_checked(path: &str) -> bool {
    let is_test = path.contains("/tests") || path.ends_with("tests.rs") || path.contains("/examples/");
    path.starts_with(CRATES_FOLDER) && !is_test
}

/// Checks the comments, messages and type names of one Rust file.
pub(super) fn check_source(file: &TextFile) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut previous = None;
    for (index, line) in file.text.lines().enumerate() {
        let mut report = |message: String| violations.push(Violation::at(&file.path, index + 1, message));
        let comment = Comment::of(line);
        let opens = comment.as_ref().filter(|comment| comment.is_doc && previous != Some(comment.marker));
        if let Some(word) = opens.and_then(|comment| question_word(comment.text)) {
            report(format!("a doc comment opens with `{word}`: open with a verb or a noun phrase"));
        }
        let text = comment.as_ref().map_or_else(|| string_literals(line), |comment| comment.text.to_owned());
        for (idiom, replacement) in idioms(&text) {
            report(format!("`{idiom}`: write plain English ({replacement})"));
        }
        if let Some(name) = type_name(line).filter(|name| VAGUE_TYPES.contains(name)) {
            report(format!("`{name}` does not say what the type is: use the standard term for it"));
        }
        previous = comment.map(|comment| comment.marker);
    }
    violations
}

/// Checks the prose of one page of the documentation. Fenced blocks are code.
pub(super) fn check_page(page: &TextFile) -> Vec<Violation> {
    let check = |(number, line)| {
        idioms(line).map(move |(idiom, replacement)| {
            Violation::at(&page.path, number, format!("`{idiom}`: write plain English ({replacement})"))
        })
    };
    prose(&page.text).flat_map(check).collect()
}

/// Checks that no two types of a crate share a name.
pub(super) fn check_type_names<'a>(files: impl Iterator<Item = &'a TextFile>) -> Vec<Violation> {
    let mut places: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for file in files {
        let Some(package) = file.path.split('/').nth(1) else { continue };
        for (index, line) in file.text.lines().enumerate() {
            if let Some(name) = type_name(line).filter(|name| !SHARED_TYPES.contains(name)) {
                places.entry((package, name)).or_default().push(format!("{}:{}", file.path, index + 1));
            }
        }
    }
    let twins = places.into_iter().filter(|(_, places)| places.len() > 1);
    twins
        .map(|((package, name), places)| {
            Violation::of(package, format!("several types are called `{name}`: {}", places.join(", ")))
        })
        .collect()
}

/// A line that is a comment.
struct Comment<'a> {
    marker: &'static str,
    is_doc: bool,
    text: &'a str,
}

impl<'a> Comment<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let line = line.trim();
        let (marker, text) =
            ["///", "//!", "//"].into_iter().find_map(|marker| Some((marker, line.strip_prefix(marker)?)))?;
        Some(Self { marker, is_doc: marker != "//", text: text.trim() })
    }
}

fn question_word(text: &str) -> Option<&'static str> {
    let first = text.split(|c: char| !c.is_alphanumeric()).next()?;
    QUESTION_WORDS.iter().copied().find(|word| *word == first)
}

/// Returns the contents of the string literals on a line, separated by spaces.
fn string_literals(line: &str) -> String {
    let (mut text, mut inside, mut escaped) = (String::new(), false, false);
    for c in line.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => {
                inside = !inside;
                text.push(' ');
            }
            _ if inside => text.push(c),
            _ => {}
        }
    }
    text
}

/// Returns the idioms in a text, as whole words and regardless of case.
fn idioms(text: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let text = text.to_ascii_lowercase();
    IDIOMS.iter().copied().filter(move |(idiom, _)| {
        text.match_indices(idiom).any(|(start, _)| {
            let before = text.get(..start).and_then(|before| before.chars().next_back());
            let after = text.get(start + idiom.len()..).and_then(|after| after.chars().next());
            [before, after].into_iter().flatten().all(|c| !c.is_alphanumeric() && c != '_')
        })
    })
}

/// Returns the name of the type that a line defines.
fn type_name(line: &str) -> Option<&str> {
    let line = line.trim();
    let line = line.strip_prefix("pub").map_or(line, |rest| {
        let rest =
            rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest);
        rest.trim_start()
    });
    let name =
        ["struct ", "enum ", "trait ", "type "].into_iter().find_map(|word| line.strip_prefix(word))?;
    let name = name.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    name.starts_with(|c: char| c.is_ascii_uppercase()).then_some(name)
}
