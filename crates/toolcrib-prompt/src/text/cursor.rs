//! A place in a text that may still grow.

use std::borrow::Cow;

/// Why nothing was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stop {
    /// The text ran out. Where more of it may follow, nothing is decided yet.
    Out,
    /// Something else stands here, for this reason.
    No(Cow<'static, str>),
}

impl Stop {
    pub(super) const fn no(why: &'static str) -> Self {
        Self::No(Cow::Borrowed(why))
    }
}

/// Reads a text from left to right, and knows how far it has looked. What is read from the beginning of a text is read
/// from the whole in the same way, as long as nothing returned [`Stop::Out`].
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    furthest: usize,
    is_end: bool,
}

impl<'a> Cursor<'a> {
    /// A cursor at a byte of a text, which is all there is when `is_end` says so.
    pub(super) fn new(text: &'a str, at: usize, is_end: bool) -> Self {
        Self { text, at, furthest: at, is_end }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The furthest byte that was looked at.
    pub(super) fn furthest(&self) -> usize {
        self.furthest.max(self.at)
    }

    /// Whether nothing can follow the text.
    pub(super) fn is_end(&self) -> bool {
        self.is_end
    }

    pub(super) fn is_out(&self) -> bool {
        self.at >= self.text.len()
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The text from one byte to another.
    pub(super) fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// The text from a byte on.
    pub(super) fn slice_from(&self, from: usize) -> &'a str {
        self.text.get(from..).unwrap_or_default()
    }

    /// Goes to another byte, which may lie behind.
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

    /// The next character, or [`Stop::Out`].
    pub(super) fn need(&self) -> Result<char, Stop> {
        self.peek().ok_or(Stop::Out)
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Goes on behind a text that stands here.
    pub(super) fn eat(&mut self, wanted: &str) -> bool {
        let stands = self.rest().starts_with(wanted);
        if stands {
            self.at += wanted.len();
        }
        stands
    }

    /// Whether a text stands here; undecided while the text breaks off inside of it.
    pub(super) fn begins(&self, wanted: &str) -> Result<bool, Stop> {
        let rest = self.rest();
        if !self.is_end && rest.len() < wanted.len() && wanted.starts_with(rest) {
            return Err(Stop::Out);
        }
        Ok(rest.starts_with(wanted))
    }

    /// Skips blanks, and says whether a line ended among them.
    pub(super) fn skip_blanks(&mut self) -> bool {
        let rest = self.rest();
        let blanks = rest.len() - rest.trim_start().len();
        let has_line_end = rest.get(..blanks).is_some_and(|blanks| blanks.contains('\n'));
        self.at += blanks;
        has_line_end
    }

    /// The characters that satisfy a condition, at most so many bytes; undecided while the text breaks off among them.
    pub(super) fn take_while(
        &mut self,
        max_bytes: usize,
        wanted: impl Fn(char) -> bool,
    ) -> Result<&'a str, Stop> {
        let rest = self.rest();
        let length = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        // Not longer, so that a text without an end is no reason to wait for one.
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
