//! The stored parts of the output of programs.

use std::collections::VecDeque;

/// The maximum length of a line in a progress report, in characters.
const MAX_PROGRESS_CHARS: usize = 200;

/// The beginning and the end of a stream.
pub(super) struct HeadTailBuffer {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// The maximum size of each of them, in bytes.
    half: usize,
    bytes: u64,
}

impl HeadTailBuffer {
    /// Creates a buffer that stores up to `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), half: limit / 2, bytes: 0 }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(head);
        // Only the end of a long piece can stay.
        let rest = rest.get(rest.len().saturating_sub(self.half)..).unwrap_or_default();
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns up to `max_lines` lines of text, with a note at the position of omitted text.
    pub(super) fn text(mut self, max_lines: usize) -> String {
        let stored = (self.head.len() + self.tail.len()) as u64;
        let tail = self.tail.make_contiguous();
        if stored == self.bytes {
            let whole = [self.head.as_slice(), tail].concat();
            return fewer_lines(&String::from_utf8_lossy(&whole), max_lines);
        }
        let left_out = self.bytes - stored;
        let head = String::from_utf8_lossy(&self.head);
        let tail = String::from_utf8_lossy(tail);
        let line = format!("\n[{left_out} bytes were left out here]\n");
        fewer_lines(
            &[head.trim_end_matches('\u{FFFD}'), &line, tail.trim_start_matches('\u{FFFD}')].concat(),
            max_lines,
        )
    }
}

/// Returns the first and the last lines.
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

/// Returns the last line of a piece of output, for progress reports.
pub(super) fn last_line(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    // Control characters could affect the terminal of a viewer.
    Some(line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_PROGRESS_CHARS).collect())
}

/// The end of a stream, addressed by byte offsets in the whole stream.
pub(super) struct OutputLog {
    stored: VecDeque<u8>,
    limit: usize,
    /// The number of bytes before the stored ones.
    dropped: u64,
}

/// A part of a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LogSlice {
    pub(super) text: String,
    /// Its start; later than requested if the requested bytes are no longer stored.
    pub(super) offset: u64,
    /// The offset at which to continue.
    pub(super) next: u64,
    /// The size of the whole stream.
    pub(super) end: u64,
}

impl OutputLog {
    pub(super) fn new(limit: usize) -> Self {
        Self { stored: VecDeque::new(), limit, dropped: 0 }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        let rest = bytes.get(bytes.len().saturating_sub(self.limit)..).unwrap_or_default();
        let excess = (self.stored.len() + rest.len()).saturating_sub(self.limit);
        self.dropped += (excess + bytes.len() - rest.len()) as u64;
        self.stored.drain(..excess);
        self.stored.extend(rest);
    }

    pub(super) fn end(&self) -> u64 {
        self.dropped + self.stored.len() as u64
    }

    /// Returns up to `limit` bytes from `offset`; the last ones if it is `None`. Bytes that may be the beginning of a
    /// character are left for the next slice, unless nothing `follows`.
    pub(super) fn slice(&self, offset: Option<u64>, limit: usize, follows: bool) -> LogSlice {
        let end = self.end();
        let from = offset.unwrap_or_else(|| end.saturating_sub(limit as u64)).clamp(self.dropped, end);
        let skipped = usize::try_from(from - self.dropped).unwrap_or(usize::MAX);
        let mut bytes: Vec<u8> = self.stored.iter().skip(skipped).take(limit).copied().collect();
        let mut start = from;
        if offset != Some(from) {
            // The caller did not choose this start, so it may be inside of a character.
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
        LogSlice { text: String::from_utf8_lossy(&bytes).into_owned(), offset: start, next, end }
    }
}
