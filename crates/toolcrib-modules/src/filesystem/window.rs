//! Some lines out of a file that comes in pieces.

use super::room::MAX_RESULT_BYTES;

/// The lines that were asked for, as far as they have come by.
pub(super) struct Window {
    first: u64,
    last: u64,
    /// The number of the line that the next byte belongs to.
    line: u64,
    /// Whether some of that line has come by.
    is_inside_line: bool,
    text: Vec<u8>,
    /// How much of the text are lines to their end.
    whole: usize,
    end: Option<End>,
}

/// Why a window takes no more, although the file goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// All lines are there, or no further line fits into a result.
    Next {
        /// The first line that is not there.
        line: u64,
    },
    /// The only line is longer than a result.
    LongLine,
}

impl Window {
    /// Up to `count` lines from the line `first` on, counted from 1.
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

    /// Takes the next piece of the file. What comes after the end of the window is not looked at.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.end.is_some() {
                return;
            }
            self.end = self.feed_line(piece);
        }
    }

    fn feed_line(&mut self, piece: &[u8]) -> Option<End> {
        if self.line > self.last {
            return Some(End::Next { line: self.line });
        }
        if self.line >= self.first {
            let room = MAX_RESULT_BYTES.saturating_sub(self.text.len());
            if let Some(fitting) = piece.get(..room).filter(|fitting| fitting.len() < piece.len()) {
                if self.whole > 0 {
                    self.text.truncate(self.whole);
                    return Some(End::Next { line: self.line });
                }
                self.text.extend_from_slice(fitting);
                self.drop_half_character();
                return Some(End::LongLine);
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

    /// Why it takes no more; `None` while it takes more.
    pub(super) fn end(&self) -> Option<End> {
        self.end
    }

    /// How many lines have come by.
    pub(super) fn lines(&self) -> u64 {
        self.line - 1 + u64::from(self.is_inside_line)
    }

    /// The text of the lines.
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
