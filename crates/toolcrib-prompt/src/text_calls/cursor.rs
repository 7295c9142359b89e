//! A position in a text that may still grow.

use std::borrow::Cow;

/// The reason why nothing was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stop {
    /// The text ended. If more of it may follow, nothing is decided yet.
    Out,
    /// The text does not match, for this reason.
    No(Cow<'static, str>),
}

impl Stop {
    pub(super) const fn no(why: &'static str) -> Self {
        Self::No(Cow::Borrowed(why))
    }
}

/// A cursor that reads a text from left to right and records the furthest byte it examined. A result read from a prefix
/// of a text also holds for the whole text, provided nothing returned [`Stop::Out`].
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    furthest: usize,
    is_end: bool,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at a byte of a text, which is complete if `is_end` is true.
    pub(super) fn new(text: &'a str, at: usize, is_end: bool) -> Self {
        Self { text, at, furthest: at, is_end }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Returns the furthest byte that was examined.
    pub(super) fn furthest(&self) -> usize {
        self.furthest.max(self.at)
    }

    /// Returns true if nothing can follow the text.
    pub(super) fn is_end(&self) -> bool {
        self.is_end
    }

    pub(super) fn is_out(&self) -> bool {
        self.at >= self.text.len()
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Returns the text from one byte to another.
    pub(super) fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// Returns the text from a byte to the end.
    pub(super) fn slice_from(&self, from: usize) -> &'a str {
        self.text.get(from..).unwrap_or_default()
    }

    /// Moves to another byte, which may be an earlier one.
    pub(super) fn jump(&mut self, at: usize) {
        self.furthest = self.furthest();
        self.at = at;
    }

    pub(super) fn go_to_end(&mut self) {
        self.jump(self.text.len());
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Returns the next character, or [`Stop::Out`].
    pub(super) fn need(&self) -> Result<char, Stop> {
        self.peek().ok_or(Stop::Out)
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Skips a text if it is next, and returns true if it did.
    pub(super) fn eat(&mut self, wanted: &str) -> bool {
        let stands = self.rest().starts_with(wanted);
        if stands {
            self.at += wanted.len();
        }
        stands
    }

    /// Returns true if a text is next; undecided if the input ends within it.
    pub(super) fn begins(&self, wanted: &str) -> Result<bool, Stop> {
        let rest = self.rest();
        if !self.is_end && rest.len() < wanted.len() && wanted.starts_with(rest) {
            return Err(Stop::Out);
        }
        Ok(rest.starts_with(wanted))
    }

    /// Skips blanks, and returns true if there was a line end among them.
    pub(super) fn skip_blanks(&mut self) -> bool {
        let rest = self.rest();
        let blanks = rest.len() - rest.trim_start().len();
        let has_line_end = rest.get(..blanks).is_some_and(|blanks| blanks.contains('\n'));
        self.at += blanks;
        has_line_end
    }

    /// Returns the characters that satisfy a condition, up to a number of bytes; undecided if the input ends among
    /// them.
    pub(super) fn take_while(
        &mut self,
        max_bytes: usize,
        wanted: impl Fn(char) -> bool,
    ) -> Result<&'a str, Stop> {
        let rest = self.rest();
        let length = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        // Bounded, so that a text without an end does not make the reader wait for one.
        if length > max_bytes {
            return Err(Stop::no("it is too long"));
        }
        self.at += length;
        if length == rest.len() && !self.is_end {
            return Err(Stop::Out);
        }
        Ok(rest.get(..length).unwrap_or_default())
    }
}
