//! The beginning and the end of a text.

use super::words::{counted, grouped, head, line_breaks, tail};

/// What stands between the beginning and the end takes no more bytes than this.
const MAX_NOTE_BYTES: usize = 120;

/// Returns the beginning and the end of a text in a number of bytes, at the breaks of lines where there are any near, with a
/// note between them on what is left out.
pub(super) fn ends(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let room = bytes.saturating_sub(MAX_NOTE_BYTES);
    let beginning = at_line_end(head(text, room - room / 3));
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

/// Without the last line that is cut, where lines are short enough for that to be little.
fn at_line_end(text: &str) -> &str {
    let end = text.rfind('\n').map_or(0, |at| at + 1);
    text.get(..end).filter(|whole| whole.len() >= text.len() / 4 * 3).unwrap_or(text)
}

/// Without the first line that is cut.
fn at_line_start(text: &str) -> &str {
    let start = text.find('\n').map_or(text.len(), |at| at + 1);
    text.get(start..).filter(|whole| whole.len() >= text.len() / 4 * 3).unwrap_or(text)
}
