//! `filesystem.read`.

use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_io::files::Root;
use toolcrib_model::ToolError;

use super::blocking::Stop;
use super::failure::{failed, failure, invalid};
use super::room::MAX_RESULT_BYTES;
use super::window::{End, Window};

/// How many lines a call of `read` returns when it does not say.
pub const DEFAULT_LINES: u64 = 2000;

/// How far into a file `read` looks for the lines it is to return, in bytes.
pub const MAX_SCAN_BYTES: u64 = 256 * 1024 * 1024;

/// How much of a file is read at once, in bytes.
const CHUNK_BYTES: usize = 256 * 1024;

/// How much of the beginning of a file tells whether it is text, in bytes.
const SNIFFED_BYTES: usize = 8 * 1024;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Read {
    /// The file, relative to the workspace.
    path: String,
    /// The first line to read, counted from 1.
    #[serde(default = "first_line")]
    offset: NonZeroU64,
    /// How many lines to read at most.
    #[serde(default = "default_lines")]
    limit: NonZeroU64,
}

fn first_line() -> NonZeroU64 {
    NonZeroU64::MIN
}

fn default_lines() -> NonZeroU64 {
    NonZeroU64::MIN.saturating_add(DEFAULT_LINES - 1)
}

pub(super) fn read(root: &Root, read: &Read, stop: &Stop) -> Result<String, ToolError> {
    let path = &read.path;
    let mut window = Window::new(read.offset.get(), read.limit.get());
    let mut scanned = 0;
    loop {
        stop.check()?;
        let slice = root.read(path, scanned, CHUNK_BYTES).map_err(|error| failure(root, error))?;
        if scanned == 0 && is_binary(&slice.bytes) {
            let message =
                format!("`{path}` is a binary file of {} bytes: it has a NUL byte in it", slice.file_bytes);
            return Err(failed(message).with_hint("`filesystem.read` reads text only"));
        }
        window.feed(&slice.bytes);
        if window.end().is_some() || !slice.truncated {
            break;
        }
        scanned += CHUNK_BYTES as u64;
        if scanned >= MAX_SCAN_BYTES {
            let message = format!(
                "the first {MAX_SCAN_BYTES} bytes of `{path}` are {} lines, and no more of it is read",
                window.lines()
            );
            return Err(failed(message).with_hint("ask for lines before that"));
        }
    }
    if window.lines() < read.offset.get() && window.end().is_none() && read.offset > first_line() {
        let message = format!("`{path}` has {} lines, `offset` is {}", window.lines(), read.offset);
        return Err(invalid(message).with_hint("give an `offset` within the file"));
    }
    let end = window.end();
    Ok(with_notes(window.into_text(), end, read.offset.get()))
}

/// The lines, and behind them in brackets what a reader has to know of them.
fn with_notes(bytes: Vec<u8>, end: Option<End>, first: u64) -> String {
    let (mut text, is_text) = match String::from_utf8(bytes) {
        Ok(text) => (text, true),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), false),
    };
    let mut notes = Vec::new();
    match end {
        Some(End::Next { line }) => {
            notes.push(format!("these are the lines {first} to {}; go on with `offset` {line}", line - 1));
        }
        Some(End::LongLine) => notes.push(format!(
            "line {first} is longer than {MAX_RESULT_BYTES} bytes and was cut; go on with `offset` {}",
            first.saturating_add(1)
        )),
        None => {}
    }
    if !is_text {
        notes.push("bytes that are not UTF-8 are shown as \u{FFFD}".into());
    }
    if !notes.is_empty() {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.extend(["[", &notes.join("; "), "]"]);
    }
    text
}

/// Whether the beginning of a file has a byte that no text has.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(SNIFFED_BYTES).any(|byte| *byte == 0)
}
