//! One search through many files.

use std::collections::VecDeque;

use regex::bytes::Regex;
use toolcrib_io::files::Root;
use toolcrib_model::ToolError;

use super::super::blocking::Stop;
use super::super::read::is_binary;
use super::super::room::{Room, were};
use super::{MAX_GREP_BYTES, MAX_GREP_FILE_BYTES, MAX_MATCHES, Match};

/// How much of one line is searched, in bytes. Between two lines the search can be stopped.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// How much of one line is shown, in bytes.
const MAX_SHOWN_BYTES: usize = 400;

/// How much of a long line is shown before the match, in bytes.
const SHOWN_BEFORE_BYTES: usize = 100;

/// What is looked for and what has been found.
pub(super) struct Search<'a> {
    root: &'a Root,
    regex: &'a Regex,
    context: usize,
    stop: &'a Stop,
    matches: Vec<Match>,
    room: Room,
    bytes: usize,
    over: Option<&'static str>,
    binary: usize,
    unreadable: usize,
    cut_files: usize,
    cut_lines: usize,
}

impl<'a> Search<'a> {
    pub(super) fn new(root: &'a Root, regex: &'a Regex, context: usize, stop: &'a Stop) -> Self {
        Self {
            root,
            regex,
            context,
            stop,
            matches: Vec::new(),
            room: Room::new(),
            bytes: 0,
            over: None,
            binary: 0,
            unreadable: 0,
            cut_files: 0,
            cut_lines: 0,
        }
    }

    /// Whether a bound was reached.
    pub(super) fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// Searches a file.
    pub(super) fn file(&mut self, path: &str) -> Result<(), ToolError> {
        if self.bytes >= MAX_GREP_BYTES {
            self.over = Some("there is more text than one call searches: make `path` or `glob` narrower");
            return Ok(());
        }
        let Ok(slice) = self.root.read(path, 0, MAX_GREP_FILE_BYTES) else {
            self.unreadable += 1;
            return Ok(());
        };
        self.bytes += slice.bytes.len();
        if is_binary(&slice.bytes) {
            self.binary += 1;
            return Ok(());
        }
        self.cut_files += usize::from(slice.truncated);
        self.text(path, &slice.bytes)
    }

    fn text(&mut self, path: &str, bytes: &[u8]) -> Result<(), ToolError> {
        let mut before: VecDeque<&[u8]> = VecDeque::with_capacity(self.context + 1);
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').map(without_end);
        let mut number = 0;
        while let Some(line) = lines.next() {
            self.stop.check()?;
            number += 1;
            let searched = line.get(..MAX_LINE_BYTES).unwrap_or(line);
            self.cut_lines += usize::from(searched.len() < line.len());
            if let Some(found) = self.regex.find(searched) {
                let found = Match {
                    path: path.into(),
                    line: number,
                    text: excerpt(line, found.start()),
                    before: before.iter().map(|line| excerpt(line, 0)).collect(),
                    after: lines.clone().take(self.context).map(|line| excerpt(line, 0)).collect(),
                };
                if !self.take(found) {
                    return Ok(());
                }
            }
            before.push_back(line);
            if before.len() > self.context {
                before.pop_front();
            }
        }
        Ok(())
    }

    /// Adds a match, unless there is no room for it.
    fn take(&mut self, found: Match) -> bool {
        let context: usize = found.before.iter().chain(&found.after).map(String::len).sum();
        let fits =
            self.matches.len() < MAX_MATCHES && self.room.take(found.path.len() + found.text.len() + context);
        if fits {
            self.matches.push(found);
        } else {
            self.over = Some("there are more matches: make `pattern`, `path` or `glob` narrower");
        }
        fits
    }

    /// What was left out, in sentences.
    pub(super) fn notes(&self) -> Vec<String> {
        let counted = [
            (self.binary, "file", "files", "skipped: binary".to_owned()),
            (self.unreadable, "file", "files", "skipped: not readable".to_owned()),
            (
                self.cut_files,
                "file",
                "files",
                format!("searched in the first {MAX_GREP_FILE_BYTES} bytes only"),
            ),
            (self.cut_lines, "line", "lines", format!("searched in the first {MAX_LINE_BYTES} bytes only")),
        ];
        let counted = counted
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, one, many, what)| format!("{} {what}", were(count, one, many)));
        self.over.map(String::from).into_iter().chain(counted).collect()
    }

    pub(super) fn into_matches(self) -> Vec<Match> {
        self.matches
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A line, or what is around a position in it if it is long.
fn excerpt(line: &[u8], at: usize) -> String {
    if line.len() <= MAX_SHOWN_BYTES {
        return String::from_utf8_lossy(line).into_owned();
    }
    let start = character_start(line, at.saturating_sub(SHOWN_BEFORE_BYTES));
    let end = character_start(line, line.len().min(start + MAX_SHOWN_BYTES));
    let shown = String::from_utf8_lossy(line.get(start..end).unwrap_or_default());
    let (before, behind) = (if start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    format!("{before}{shown}{behind}")
}

/// The position, or one shortly before it, where a character begins.
fn character_start(line: &[u8], mut at: usize) -> usize {
    const CONTINUATION_BYTES: usize = 3;
    for _ in 0..CONTINUATION_BYTES {
        // `10xxxxxx` stands inside of a character of UTF-8.
        if line.get(at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000) {
            at = at.saturating_sub(1);
        }
    }
    at
}
