//! What a program writes, as far as it is kept.

use std::collections::VecDeque;

/// How much of a line is told while a program runs, in characters.
const MAX_TOLD_CHARS: usize = 200;

/// The beginning and the end of a stream.
pub(super) struct Ends {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// How large each may be.
    half: usize,
    bytes: u64,
}

impl Ends {
    /// Of a stream of which so many bytes are kept.
    pub(super) fn new(limit: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), half: limit / 2, bytes: 0 }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(head);
        // Of a long piece, only its end can stay.
        let rest = rest.get(rest.len().saturating_sub(self.half)..).unwrap_or_default();
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The text, of so many lines, with a line about what was left out where it was.
    pub(super) fn text(mut self, max_lines: usize) -> String {
        let kept = (self.head.len() + self.tail.len()) as u64;
        let tail = self.tail.make_contiguous();
        if kept == self.bytes {
            let whole = [self.head.as_slice(), tail].concat();
            return fewer_lines(&String::from_utf8_lossy(&whole), max_lines);
        }
        let left_out = self.bytes - kept;
        let head = String::from_utf8_lossy(&self.head);
        let tail = String::from_utf8_lossy(tail);
        let line = format!("\n[{left_out} bytes were left out here]\n");
        fewer_lines(
            &[head.trim_end_matches('\u{FFFD}'), &line, tail.trim_start_matches('\u{FFFD}')].concat(),
            max_lines,
        )
    }
}

/// The first lines and the last ones.
fn fewer_lines(text: &str, max_lines: usize) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let left_out = lines.len().saturating_sub(max_lines);
    if left_out == 0 {
        return text.to_owned();
    }
    let head = max_lines.div_ceil(2);
    let (first, rest) = lines.split_at(head);
    let last = rest.get(left_out..).unwrap_or_default();
    format!("{}[{left_out} lines were left out here]\n{}", first.concat(), last.concat())
}

/// The last line of what a program has just written, for those who watch it.
pub(super) fn last_line(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    // Control characters would reach the terminal of whoever watches.
    Some(line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_TOLD_CHARS).collect())
}

/// The end of a stream, by the place of its bytes in all of it.
pub(super) struct Log {
    kept: VecDeque<u8>,
    limit: usize,
    /// How many bytes came before those that are kept.
    gone: u64,
}

/// A part of a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) text: String,
    /// Where it begins; later than was asked for when what was there is gone.
    pub(super) offset: u64,
    /// Where to go on.
    pub(super) next: u64,
    /// How many bytes there are.
    pub(super) end: u64,
}

impl Log {
    pub(super) fn new(limit: usize) -> Self {
        Self { kept: VecDeque::new(), limit, gone: 0 }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        let rest = bytes.get(bytes.len().saturating_sub(self.limit)..).unwrap_or_default();
        let excess = (self.kept.len() + rest.len()).saturating_sub(self.limit);
        self.gone += (excess + bytes.len() - rest.len()) as u64;
        self.kept.drain(..excess);
        self.kept.extend(rest);
    }

    pub(super) fn end(&self) -> u64 {
        self.gone + self.kept.len() as u64
    }

    /// Up to `limit` bytes from `offset` on; the last ones without. What may be the beginning of a character stays for the
    /// next one, unless nothing `follows`.
    pub(super) fn slice(&self, offset: Option<u64>, limit: usize, follows: bool) -> Slice {
        let end = self.end();
        let from = offset.unwrap_or_else(|| end.saturating_sub(limit as u64)).clamp(self.gone, end);
        let skipped = usize::try_from(from - self.gone).unwrap_or(usize::MAX);
        let mut bytes: Vec<u8> = self.kept.iter().skip(skipped).take(limit).copied().collect();
        let mut start = from;
        if offset != Some(from) {
            // Here somebody else's choice begins the slice, and perhaps in the midst of a character.
            let inside = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
            bytes.drain(..inside);
            start += inside as u64;
        }
        let is_last = start + bytes.len() as u64 == end && !follows;
        if !is_last
            && let Err(error) = std::str::from_utf8(&bytes)
            && bytes.len() - error.valid_up_to() < 4
            && error.error_len().is_none()
        {
            bytes.truncate(error.valid_up_to());
        }
        let next = start + bytes.len() as u64;
        Slice { text: String::from_utf8_lossy(&bytes).into_owned(), offset: start, next, end }
    }
}
