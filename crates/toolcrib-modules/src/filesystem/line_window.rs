//! The selection of lines from a file that is read in pieces.

use super::size_budget::MAX_RESULT_BYTES;

/// The selected lines, so far.
pub(super) struct LineWindow {
    first: u64,
    last: u64,
    /// The number of the line that contains the next byte.
    line: u64,
    /// True if a part of that line has been fed.
    is_inside_line: bool,
    text: Vec<u8>,
    /// The length of the complete lines in the text.
    whole: usize,
    end: Option<WindowEnd>,
}

/// The reason why a window ended before the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowEnd {
    /// All selected lines have been read, or no further line fits into a result.
    Next {
        /// The first line that is not included.
        line: u64,
    },
    /// The only line is longer than a result.
    LongLine,
}

impl LineWindow {
    /// Selects up to `count` lines, beginning with the line `first`, counted from 1.
    pub(super) fn new(first: u64, count: u64) -> Self {
        Self {
            first,
            last: first.saturating_add(count - 1),
            line: 1,
            is_inside_line: false,
            text: Vec::new(),
            whole: 0,
            end: None,
        }
    }

    /// Feeds the next piece of the file. Bytes after the end of the window are ignored.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.end.is_some() {
                return;
            }
            self.end = self.feed_line(piece);
        }
    }

    fn feed_line(&mut self, piece: &[u8]) -> Option<WindowEnd> {
        if self.line > self.last {
            return Some(WindowEnd::Next { line: self.line });
        }
        if self.line >= self.first {
            let room = MAX_RESULT_BYTES.saturating_sub(self.text.len());
            if let Some(fitting) = piece.get(..room).filter(|fitting| fitting.len() < piece.len()) {
                if self.whole > 0 {
                    self.text.truncate(self.whole);
                    return Some(WindowEnd::Next { line: self.line });
                }
                self.text.extend_from_slice(fitting);
                self.drop_half_character();
                return Some(WindowEnd::LongLine);
            }
            self.text.extend_from_slice(piece);
        }
        self.is_inside_line = !piece.ends_with(b"\n");
        if !self.is_inside_line {
            self.line += 1;
            self.whole = self.text.len();
        }
        None
    }

    /// Returns the reason why the window has ended; `None` while it has not.
    pub(super) fn end(&self) -> Option<WindowEnd> {
        self.end
    }

    /// Returns the number of lines that have been fed.
    pub(super) fn lines(&self) -> u64 {
        self.line - 1 + u64::from(self.is_inside_line)
    }

    /// Returns the text of the lines.
    pub(super) fn into_text(self) -> Vec<u8> {
        self.text
    }

    fn drop_half_character(&mut self) {
        if let Err(error) = std::str::from_utf8(&self.text)
            && error.error_len().is_none()
        {
            self.text.truncate(error.valid_up_to());
        }
    }
}
