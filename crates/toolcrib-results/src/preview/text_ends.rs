//! The truncation of a text to its beginning and its end.

use toolcrib_model::text::truncate_bytes;

use crate::text::{counted, grouped, line_breaks, tail};

/// The maximum size of the note between the beginning and the end.
const MAX_NOTE_BYTES: usize = 120;

/// Returns the beginning and the end of a text in a number of bytes, split at line breaks that are close, with a note
/// on the omitted part between them.
pub(crate) fn ends(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let room = bytes.saturating_sub(MAX_NOTE_BYTES);
    let beginning = at_line_end(truncate_bytes(text, room - room / 3));
    let end = at_line_start(tail(text, room / 3));
    let left_out = text.get(beginning.len()..text.len() - end.len()).unwrap_or_default();
    let first = line_breaks(beginning) + 1;
    let breaks = line_breaks(left_out);
    let note = if breaks > 1 {
        let last = first + breaks - usize::from(left_out.ends_with('\n'));
        format!(
            "… [{} left out: lines {} to {}] …",
            counted(left_out.len(), "byte"),
            grouped(first),
            grouped(last)
        )
    } else {
        format!("… [{} left out] …", counted(left_out.len(), "byte"))
    };
    let gap = if beginning.is_empty() || beginning.ends_with('\n') { "" } else { "\n" };
    format!("{beginning}{gap}{note}\n{end}")
}

/// Returns the text without its incomplete last line, if lines are short enough for the loss to be small.
fn at_line_end(text: &str) -> &str {
    let end = text.rfind('\n').map_or(0, |at| at + 1);
    text.get(..end).filter(|whole| whole.len() >= text.len() / 4 * 3).unwrap_or(text)
}

/// Returns the text without its incomplete first line, if lines are short enough for the loss to be small.
fn at_line_start(text: &str) -> &str {
    let start = text.find('\n').map_or(text.len(), |at| at + 1);
    text.get(start..).filter(|whole| whole.len() >= text.len() / 4 * 3).unwrap_or(text)
}
