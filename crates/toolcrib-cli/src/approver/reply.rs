//! What a line means as an answer about a call.

use toolcrib_policy::Remember;

use crate::printable::{Layout, cut};

/// The most bytes of what a person says besides yes and no.
pub(super) const MAX_SAID_BYTES: usize = 4000;

/// What a line means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Yes(Remember),
    Edit,
    /// Back to the arguments as they were.
    Undo,
    /// Shows what was left out.
    All,
    No(Option<String>),
    /// A letter that means nothing, most likely a slip.
    Unclear,
}

/// What a line means; the end of the input is a no. Only a plain yes is one, and more than one letter that is no word
/// here says why not.
pub(crate) fn reply(line: Option<&str>) -> Reply {
    let said = line.unwrap_or_default().trim();
    match said.to_lowercase().as_str() {
        "y" | "yes" => Reply::Yes(Remember::Once),
        "s" | "always" => Reply::Yes(Remember::Tool),
        "v" => Reply::Yes(Remember::Arguments),
        "e" | "edit" => Reply::Edit,
        "u" | "undo" => Reply::Undo,
        "a" | "all" => Reply::All,
        "" | "n" | "no" => Reply::No(None),
        other if other.chars().count() == 1 => Reply::Unclear,
        _ => Reply::No(Some(feedback(said))),
    }
}

/// What the model is told of a person's words.
pub(super) fn feedback(said: &str) -> String {
    cut(said.trim(), Layout::Lines, MAX_SAID_BYTES)
}

/// A number at the beginning of a line, from 1, and what stands behind it.
pub(super) fn numbered(line: &str) -> Option<(usize, &str)> {
    let line = line.trim();
    let end = line.find(|c: char| !c.is_ascii_digit()).unwrap_or(line.len());
    let (number, rest) = line.split_at(end);
    Some((number.parse().ok()?, rest.trim_start_matches(['.', ':', ')']).trim()))
}
