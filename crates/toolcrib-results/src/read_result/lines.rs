//! Selection of lines by their numbers.

use toolcrib_model::{ErrorKind, ToolError};

use crate::text::{grouped, lines};

/// A range of lines of a text.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    pub(crate) text: &'a str,
    /// The numbers of the first and the last line.
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// The number of lines of the whole text.
    pub(crate) all: usize,
}

/// Returns the lines of a range: `10-50`, `10-` to the end, `-50` from the beginning, or one number.
pub(crate) fn select<'a>(text: &'a str, range: &str) -> Result<Lines<'a>, ToolError> {
    let (first, last) = parse(range).ok_or_else(|| {
        let message = "`lines` is not a range of line numbers".to_owned();
        ToolError::new(ErrorKind::InvalidArgs, message)
            .with_hint("write it as \"10-50\", \"10-\" or \"10\"; the first line is 1")
    })?;
    let all = lines(text);
    if first > all {
        let message = format!("there is no line {}: the text has {} lines", grouped(first), grouped(all));
        return Err(ToolError::new(ErrorKind::InvalidArgs, message));
    }
    let last = last.min(all);
    let start = start_of(text, first);
    let end = start + text.get(start..).map_or(0, |rest| start_of(rest, last - first + 2));
    Ok(Lines { text: text.get(start..end).unwrap_or_default(), first, last, all })
}

/// Returns the byte position of a line; the end of the text if it has fewer lines.
fn start_of(text: &str, line: usize) -> usize {
    let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
    match line.checked_sub(2) {
        None => 0,
        Some(breaks_before) => breaks.into_iter().nth(breaks_before).unwrap_or(text.len()),
    }
}

fn parse(range: &str) -> Option<(usize, usize)> {
    let plain = range.replace("..", "-").replace([':', '–', ','], "-");
    let (first, last) = plain.split_once('-').unwrap_or((&plain, &plain));
    let number = |text: &str, default: usize| match text.trim() {
        "" => Some(default),
        text => text.parse::<usize>().ok(),
    };
    let is_empty = range.trim().is_empty() || first.trim().is_empty() && last.trim().is_empty();
    let (first, last) = (number(first, 1)?, number(last, usize::MAX)?);
    (!is_empty && first >= 1 && first <= last).then_some((first, last))
}
