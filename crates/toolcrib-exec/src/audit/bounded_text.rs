//! Texts and values of callers and sources in audit records.

use std::fmt::Write as _;
use std::io;

use serde_json::Value;
use toolcrib_model::text::{is_invisible, truncate_bytes};

/// The maximum size of a text in a record, before invisible characters are escaped.
pub(super) const MAX_TEXT_BYTES: usize = 256;

/// Returns a text of limited length, on one line, with its invisible characters escaped.
pub(super) fn shown(text: &str) -> String {
    let kept = truncate_bytes(text, MAX_TEXT_BYTES);
    let mut out = String::with_capacity(kept.len());
    for c in kept.chars() {
        if is_invisible(c) {
            // Writing to a string cannot fail.
            let _ = write!(out, "{}", c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    if kept.len() < text.len() {
        out.push('…');
    }
    out
}

/// Returns the size of a value as JSON; `None` if it exceeds the limit.
pub(super) fn json_bytes(value: &Value, limit: usize) -> Option<usize> {
    let mut counter = ByteCounter { left: limit };
    serde_json::to_writer(&mut counter, value).ok()?;
    Some(limit - counter.left)
}

/// Returns true if values nest at most a number of levels. It does not recurse.
pub(super) fn nests_within<'a>(values: impl IntoIterator<Item = &'a Value>, levels: usize) -> bool {
    let mut left: Vec<(&Value, usize)> = values.into_iter().map(|value| (value, 1)).collect();
    while let Some((value, level)) = left.pop() {
        if level > levels {
            return false;
        }
        match value {
            Value::Array(items) => left.extend(items.iter().map(|item| (item, level + 1))),
            Value::Object(map) => left.extend(map.values().map(|item| (item, level + 1))),
            _ => {}
        }
    }
    true
}

struct ByteCounter {
    left: usize,
}

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
