//! Search for lines that match a pattern.

use std::fmt::Write as _;

use regex::{Regex, RegexBuilder};
use toolcrib_model::{ErrorKind, ToolError};

use crate::read_result::cancellable_search::{CancelFlag, find};

/// The maximum length of a pattern.
pub(crate) const MAX_PATTERN_BYTES: usize = 1_000;

/// The maximum size of a compiled pattern in bytes.
pub(crate) const MAX_COMPILED_BYTES: usize = 1 << 20;

/// The maximum number of listed matching lines; further ones are counted.
const MAX_MATCHES: usize = 2_000;

/// The maximum number of context lines around each match.
pub(crate) const MAX_CONTEXT: usize = 10;

/// The maximum number of bytes of a line that are shown; of a longer line, those around the match.
const MAX_LINE_BYTES: usize = 400;

/// The matching lines in the format of `grep -n`.
pub(crate) struct Matches {
    pub(crate) text: String,
    pub(crate) count: usize,
    /// The number of listed matches.
    pub(crate) listed: usize,
}

/// Compiles a pattern for a linear-time engine.
pub(crate) fn pattern(pattern: &str) -> Result<Regex, ToolError> {
    if pattern.len() > MAX_PATTERN_BYTES {
        let message = format!("`grep` is longer than {MAX_PATTERN_BYTES} bytes");
        return Err(ToolError::new(ErrorKind::InvalidArgs, message));
    }
    let built =
        RegexBuilder::new(pattern).size_limit(MAX_COMPILED_BYTES).dfa_size_limit(MAX_COMPILED_BYTES).build();
    built.map_err(|error| {
        let reason = error.to_string();
        let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
        ToolError::new(ErrorKind::InvalidArgs, format!("`grep` is not a valid regular expression: {reason}")).with_hint(
            "write it as RE2 does: no look-around and no back-references; `\\.` matches a dot and `(?i)` at the \
             beginning ignores case",
        )
    })
}

/// Searches for a pattern line by line until it is cancelled, and lists at most a number of matches.
pub(crate) fn grep(
    text: &str,
    pattern: &Regex,
    context: usize,
    limit: Option<usize>,
    cancel: &CancelFlag,
) -> Matches {
    let (context, limit) =
        (context.min(MAX_CONTEXT), limit.map_or(MAX_MATCHES, |limit| limit.min(MAX_MATCHES)));
    let mut matches = Matches { text: String::new(), count: 0, listed: 0 };
    // The unlisted context lines before this line, and the number of lines to list after the last match.
    let mut before: Vec<(usize, &str)> = Vec::new();
    let (mut after, mut shown) = (0, 0);
    for (number, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line)) {
        if cancel.is_cancelled() {
            break;
        }
        let Some(found) = find(pattern, line, cancel) else {
            if after > 0 {
                after -= 1;
                shown = number;
                write_line(&mut matches.text, number, '-', line, 0);
            } else if context > 0 {
                if before.len() == context {
                    before.remove(0);
                }
                before.push((number, line));
            }
            continue;
        };
        matches.count += 1;
        if matches.listed == limit {
            before.clear();
            after = 0;
            continue;
        }
        let first = before.first().map_or(number, |(first, _)| *first);
        if context > 0 && shown > 0 && first > shown + 1 {
            matches.text.push_str("--\n");
        }
        for (number, line) in before.drain(..) {
            write_line(&mut matches.text, number, '-', line, 0);
        }
        write_line(&mut matches.text, number, ':', line, found);
        matches.listed += 1;
        (after, shown) = (context, number);
    }
    matches
}

/// Writes `12: text`, truncated around a position.
fn write_line(out: &mut String, number: usize, mark: char, line: &str, around: usize) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{number}{mark} ");
    if line.len() <= MAX_LINE_BYTES {
        out.push_str(line);
    } else {
        let start = line.floor_char_boundary(around.saturating_sub(MAX_LINE_BYTES / 4));
        let end = line.floor_char_boundary(start + MAX_LINE_BYTES);
        let shown = line.get(start..end).unwrap_or_default();
        let _ = write!(out, "{}{shown}", if start > 0 { "… " } else { "" });
        let _ = write!(out, " … [bytes {} to {end} of {}]", start + 1, line.len());
    }
    out.push('\n');
}
