//! The documented notation: `<tool_call>{"name": …, "arguments": …}</tool_call>`.

use serde_json::Deserializer;
use toolcrib_document::StrictValue;

use super::object::{calls, guess_name, reason, unreadable};
use super::{Found, MAX_TEXT_CALLS, TextCall};

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";

/// The tagged calls of a message.
pub(super) fn find(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some((before, rest)) = text.get(from..).and_then(|text| text.split_once(OPEN)) {
        let start = from + before.len();
        let Some((calls, used)) = read(rest, Place::of(before)) else {
            from = start + OPEN.len();
            continue;
        };
        let end = start + OPEN.len() + used;
        let calls = calls(text.get(start..end).unwrap_or_default());
        // Reading a call that breaks off may look at all of the rest, so their number is bounded here too.
        if found.len() == MAX_TEXT_CALLS {
            found.push(Found { range: start..text.len(), calls });
            break;
        }
        let is_marked = before.ends_with('`') && text.get(end..).is_some_and(|after| after.starts_with('`'));
        let range = if is_marked && !before.ends_with("``") { start - 1..end + 1 } else { start..end };
        from = range.end;
        found.push(Found { range, calls });
    }
    found
}

/// Where on its line an opening tag stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Nothing but blanks and code marks stand before it.
    LineStart,
    /// Text stands before it.
    Inside,
    /// Text stands before it, and a code mark directly.
    Quoted,
}

impl Place {
    fn of(before: &str) -> Self {
        let line = before.rsplit('\n').next().unwrap_or_default();
        if line.chars().all(|c| c.is_whitespace() || c == '`') {
            Self::LineStart
        } else if line.ends_with('`') {
            Self::Quoted
        } else {
            Self::Inside
        }
    }
}

type MakeCalls = Box<dyn FnOnce(&str) -> Vec<TextCall>>;

/// Reads what stands behind an opening tag: the calls, and how many bytes they take. `None` when the tag is only
/// spoken of.
fn read(rest: &str, place: Place) -> Option<(MakeCalls, usize)> {
    if place == Place::Quoted {
        return None;
    }
    let body = without_fence(rest);
    if body.starts_with(['{', '[']) {
        let mut values = Deserializer::from_str(body).into_iter::<StrictValue>();
        let outcome = values.next();
        let value_end = rest.len() - body.len() + values.byte_offset();
        let problem = match outcome {
            Some(Ok(StrictValue(value))) => match end_of_call(rest.get(value_end..).unwrap_or_default()) {
                Some(closing) => return Some((Box::new(|raw| calls(value, raw)), value_end + closing)),
                None => "something stands between the JSON object and the closing tag".to_owned(),
            },
            Some(Err(error)) => format!("the call is not valid JSON: {}", reason(&error)),
            None => "the call is empty".to_owned(),
        };
        return Some((broken(problem), end_of_broken(rest)));
    }
    let end = end_of_broken(rest);
    let inner = rest.get(..end).unwrap_or_default();
    let is_closed = inner.ends_with(CLOSE);
    // In code marks, or in the middle of a line with nothing to close it: the tag is spoken of, not used.
    if body.starts_with('`') || (!is_closed && place != Place::LineStart) {
        return None;
    }
    let is_empty = inner.trim_end_matches(CLOSE).trim().is_empty();
    let problem = if is_empty { "the call is empty" } else { "the call is not a JSON object" };
    Some((broken(problem.to_owned()), end))
}

fn broken(problem: String) -> MakeCalls {
    Box::new(move |raw| vec![unreadable(guess_name(raw).unwrap_or_default().to_owned(), problem, raw)])
}

/// The body without the blanks and the opening code fence before it.
fn without_fence(rest: &str) -> &str {
    let body = rest.trim_start();
    match body.strip_prefix("```") {
        Some(fenced) => fenced.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim_start(),
        None => body,
    }
}

/// How many bytes behind the JSON still belong to the call: up to the closing tag, or none where that is missing at
/// the end, before the next call, or before prose. `None` when something stands before the closing tag.
fn end_of_call(after: &str) -> Option<usize> {
    let rest = after.trim_start();
    let rest = rest.strip_prefix("```").map_or(rest, str::trim_start);
    match rest.strip_prefix(CLOSE) {
        Some(behind) => Some(after.len() - behind.len()),
        // The closing tag itself breaks off.
        None if CLOSE.starts_with(rest.trim_end()) => Some(after.len()),
        None => {
            let (until_next, _) = rest.split_once(OPEN).unwrap_or((rest, ""));
            (!until_next.contains(CLOSE)).then_some(after.len() - rest.len())
        }
    }
}

/// Where a call ends that cannot be read: behind the next closing tag, or before the next opening one.
fn end_of_broken(rest: &str) -> usize {
    let (until_next, _) = rest.split_once(OPEN).unwrap_or((rest, ""));
    until_next.find(CLOSE).map_or(until_next.len(), |at| at + CLOSE.len())
}
