//! The tool `filesystem.read`.

use std::io::Read as _;
use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_io::files::{OpenFile, Root};
use toolcrib_model::ToolError;

use super::errors::{failed, invalid, tool_error};
use super::image::{Content, image, media_type};
use super::line_window::{LineWindow, WindowEnd};
use super::size_budget::MAX_RESULT_BYTES;
use super::text_decoder::TextDecoder;
use crate::blocking::Cancellation;

/// The default number of lines that a call of `read` returns.
const DEFAULT_LINES: u64 = 2000;

/// The maximum number of bytes that `read` scans for the requested lines.
const MAX_SCAN_BYTES: u64 = 256 * 1024 * 1024;

/// The number of bytes that are read at once.
const CHUNK_BYTES: u64 = 256 * 1024;

/// The number of bytes at the beginning of a file that decide if it is text.
const SNIFFED_BYTES: usize = 8 * 1024;

/// The byte order mark with which some programs begin a UTF-8 file.
const UTF_8_MARK: &[u8] = "\u{FEFF}".as_bytes();

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Read {
    /// The file, relative to the workspace.
    pub(super) path: String,
    /// The first line to read, counted from 1.
    #[serde(default = "first_line")]
    offset: NonZeroU64,
    /// The maximum number of lines to read.
    #[serde(default = "default_lines")]
    limit: NonZeroU64,
    /// The encoding of the file, as in `windows-1252`; UTF-8 by default, and UTF-16 where the file begins with its mark.
    encoding: Option<String>,
}

fn first_line() -> NonZeroU64 {
    NonZeroU64::MIN
}

fn default_lines() -> NonZeroU64 {
    NonZeroU64::MIN.saturating_add(DEFAULT_LINES - 1)
}

pub(super) fn read(root: &Root, read: &Read, stop: &Cancellation) -> Result<Content, ToolError> {
    let path = &read.path;
    let named = read.encoding.as_deref().map(TextDecoder::named).transpose()?;
    let mut file = root.open_to_read(path).map_err(|error| tool_error(root, error))?;
    let mut bytes = chunk(&mut file, path)?;
    if let (Some(media_type), None) = (media_type(&bytes), &named) {
        return image(path, media_type, bytes, file);
    }
    let mut text = named.unwrap_or_else(|| TextDecoder::marked(&bytes));
    if text.has_no_nul() && is_binary(&bytes) {
        let message = format!("`{path}` is a binary file of {} bytes: it has a NUL byte in it", file.size());
        return Err(failed(message).with_hint("`filesystem.read` reads text and images only"));
    }
    if bytes.starts_with(UTF_8_MARK) {
        bytes.drain(..UTF_8_MARK.len());
    }
    let mut window = LineWindow::new(read.offset.get(), read.limit.get());
    let mut scanned = 0;
    loop {
        stop.check()?;
        scanned += bytes.len() as u64;
        let is_last = bytes.is_empty();
        text.feed(&bytes, is_last, &mut |piece| {
            window.feed(piece);
            window.end().is_none()
        });
        if window.end().is_some() || is_last {
            break;
        }
        if scanned >= MAX_SCAN_BYTES {
            let message = format!(
                "the first {MAX_SCAN_BYTES} bytes of `{path}` are {} lines, and no more of it is read",
                window.lines()
            );
            return Err(failed(message).with_hint("ask for lines before that"));
        }
        bytes = chunk(&mut file, path)?;
    }
    if window.lines() < read.offset.get() && window.end().is_none() && read.offset > first_line() {
        let message = format!("`{path}` has {} lines, `offset` is {}", window.lines(), read.offset);
        return Err(invalid(message).with_hint("give an `offset` within the file"));
    }
    let end = window.end();
    Ok(Content::Text(with_notes(window.into_text(), end, read.offset.get(), text.notes())))
}

/// Reads the next bytes of a file; returns none at its end.
fn chunk(file: &mut OpenFile, path: &str) -> Result<Vec<u8>, ToolError> {
    let mut bytes = Vec::new();
    let read = file.take(CHUNK_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| failed(format!("cannot read `{path}`: {error}")))?;
    Ok(bytes)
}

/// Returns the lines, followed by the remarks in brackets.
fn with_notes(bytes: Vec<u8>, end: Option<WindowEnd>, first: u64, about: Vec<String>) -> String {
    let (mut text, is_text) = match String::from_utf8(bytes) {
        Ok(text) => (text, true),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), false),
    };
    let mut notes = Vec::new();
    match end {
        Some(WindowEnd::Next { line }) => {
            notes.push(format!("these are the lines {first} to {}; continue with `offset` {line}", line - 1));
        }
        Some(WindowEnd::LongLine) => notes.push(format!(
            "line {first} is longer than {MAX_RESULT_BYTES} bytes and was cut; continue with `offset` {}",
            first.saturating_add(1)
        )),
        None => {}
    }
    notes.extend(about);
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

/// Returns true if the beginning of a file contains a byte that no text contains.
fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(SNIFFED_BYTES).any(|byte| *byte == 0)
}
