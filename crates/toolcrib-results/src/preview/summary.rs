//! Summaries of results that are too large: the shape, a preview, and a hint for reading the rest.

use std::fmt::Write as _;

use serde_json::{Value, json};
use toolcrib_model::JsonObject;

use crate::limits::{MAX_STORED_RESULT_BYTES, PREVIEW_TOKENS, wide};
use crate::preview::outline::Outline;
use crate::preview::text_ends::ends;
use crate::preview::value_preview::{MIN_VALUE_BYTES, preview};
use crate::read_result::name::READ_RESULT;
use crate::read_result::rows::longest_list;
use crate::read_result::table::Records;
use crate::text::{counted, grouped, lines as line_count};
use crate::tokens::TokenCounter;

/// The hint for a result that is not stored.
const NOT_KEPT: &str = "the rest is not kept; ask for less";

/// The initial estimate of bytes per token.
const BYTES_PER_TOKEN: usize = 4;

/// The number of lines of a table that are shown: the names of its columns, and the first three rows.
const TABLE_LINES: usize = 4;

/// The properties of a result in addition to its value.
pub(crate) struct ResultInfo<'a> {
    pub(crate) handle: Option<&'a str>,
    /// The size of the result, even if less was stored.
    pub(crate) bytes: usize,
    /// The images and sounds of the result, as content blocks with handles.
    pub(crate) media: Vec<Value>,
}

/// A builder of summaries with a maximum number of tokens.
pub(crate) struct Summary<'a> {
    tokens: usize,
    counter: &'a TokenCounter,
}

impl<'a> Summary<'a> {
    /// Creates a builder for a reader with a token limit.
    pub(crate) fn new(tokens: usize, counter: &'a TokenCounter) -> Self {
        Self { tokens: tokens.min(wide(PREVIEW_TOKENS)), counter }
    }

    /// Returns the summary of a value that was written as this text.
    pub(crate) fn of_value(&self, value: &Value, text: &str, about: ResultInfo<'_>) -> Value {
        let tokens = self.counter.estimate(text, about.bytes);
        let is_cut = about.bytes > MAX_STORED_RESULT_BYTES;
        let total = if is_cut {
            json!({"bytes": about.bytes, "tokens": tokens, "kept_bytes": MAX_STORED_RESULT_BYTES})
        } else {
            json!({"bytes": about.bytes, "tokens": tokens})
        };
        let base = match about.handle {
            None => json!({"total": total, "hint": NOT_KEPT}),
            Some(handle) => {
                let with = |hint: String| json!({"total": total, "handle": handle, "hint": hint});
                let base = with(if is_cut {
                    format!("{READ_RESULT}(handle=\"{handle}\", …): grep, lines or page")
                } else {
                    rows_hint(handle, longest_list(value).map(|(path, _)| path).as_deref())
                });
                let is_long = self.counter.count(&base.to_string()) > self.tokens / 2;
                if is_long { with(rows_hint(handle, None)) } else { base }
            }
        };
        self.filled(base, about.media, value)
    }

    /// Adds the shape, a preview of the value and its media, to the extent that there is space.
    fn filled(&self, base: Value, mut media: Vec<Value>, value: &Value) -> Value {
        let outline = Outline::of(value);
        let around = self.counter.count(&base.to_string());
        let mut shape_tokens = self.tokens * 2 / 5;
        let mut room = self.tokens.saturating_sub(around) * BYTES_PER_TOKEN;
        loop {
            let shape = outline.within(shape_tokens, self.counter);
            let mut told = JsonObject::new();
            told.insert("preview".into(), preview(value, room));
            told.insert("shape".into(), shape.into());
            told.extend(base.as_object().cloned().unwrap_or_default());
            if !media.is_empty() {
                told.insert("media".into(), media.clone().into());
            }
            let told = Value::Object(told);
            let count = self.counter.count(&told.to_string());
            if count <= self.tokens {
                return told;
            }
            // If nothing else fits, the data needed to read the result remains.
            if room > MIN_VALUE_BYTES {
                let over = (count - self.tokens) * BYTES_PER_TOKEN;
                room = room.saturating_sub(over.max(room / 8)).max(MIN_VALUE_BYTES);
            } else if shape_tokens > 0 {
                shape_tokens = if shape_tokens < 32 { 0 } else { shape_tokens / 4 };
            } else if media.pop().is_none() {
                return base;
            }
        }
    }

    /// Returns the summary of a text: for a table the first rows, for any other text the first and the last lines.
    pub(crate) fn of_text(&self, text: &str, cut_from: Option<usize>, about: &ResultInfo<'_>) -> String {
        let records = Records::of(text).filter(|_| cut_from.is_none());
        let table = records.and_then(|records| records.read(text));
        let mut size = match &table {
            Some(rows) => {
                let shape = Outline::of(rows).within(self.tokens * 2 / 5, self.counter);
                let kind = if records == Some(Records::JsonLines) { "lines of JSON" } else { "a table" };
                format!("{kind}: {shape}; ")
            }
            None => format!("{}; ", counted(line_count(text), "line")),
        };
        size.push_str(&counted(about.bytes, "byte"));
        // Writing to a string cannot fail.
        let _ = write!(size, ", about {} tokens", grouped(self.counter.estimate(text, about.bytes)));
        if cut_from.is_some() {
            let stored = grouped(text.len());
            let _ = write!(size, "; only the first {stored} are kept, and the end is not shown");
        }
        let hint = match (about.handle, &table) {
            (None, _) => NOT_KEPT.to_owned(),
            (Some(handle), Some(_)) => rows_hint(handle, Some("$")),
            (Some(handle), None) => {
                format!("{READ_RESULT}(handle=\"{handle}\", …): grep with context or count, lines, or page")
            }
        };
        let note = format!("[cut: {size}; {hint}]");
        let left = self.tokens.saturating_sub(self.counter.count(&note) + 1);
        let mut room = left * BYTES_PER_TOKEN;
        loop {
            let shown = match &table {
                Some(_) => first_lines(text, room),
                None => ends(text, room),
            };
            let told = format!("{}\n{note}", shown.trim_end_matches('\n'));
            if room == 0 || self.counter.count(&told) <= self.tokens {
                return if room == 0 { note } else { told };
            }
            room -= (room / 8).max(1);
        }
    }
}

/// Returns the hint for reading a result, with the path of its rows.
fn rows_hint(handle: &str, path: Option<&str>) -> String {
    let (call, others) =
        (format!("{READ_RESULT}(handle=\"{handle}\", …)"), "jq, jsonpath, grep, lines, or page");
    match path {
        None => format!("{call}: {others}"),
        Some(path) => {
            let of = if path == "$" { String::new() } else { format!(" of {path}") };
            format!(
                "{call}: rows{of} by where, fields, sort, limit; their count, sum, min, max, mean, group_by; or {others}"
            )
        }
    }
}

/// Returns the header and the first rows of a table, in at most a number of bytes.
fn first_lines(text: &str, bytes: usize) -> String {
    let end = text.match_indices('\n').nth(TABLE_LINES - 1).map_or(text.len(), |(at, _)| at);
    let lines = text.get(..end).unwrap_or(text);
    if lines.len() <= bytes {
        lines.to_owned()
    } else {
        format!("{}…", toolcrib_model::text::truncate_bytes(lines, bytes))
    }
}
