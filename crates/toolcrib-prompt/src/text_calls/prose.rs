//! The prose of a message, without its calls.

/// Collects the text around calls, and returns it incrementally. Blanks at both ends are trimmed, and blanks around a
/// call become one line end.
#[derive(Debug, Default)]
pub(super) struct Prose {
    text: String,
    /// Blanks that are kept if more text follows.
    blanks: String,
    /// True if a call was removed after the last text.
    has_gap: bool,
    /// The length of the text that was already returned.
    taken: usize,
    /// True if the text that was returned before is no longer part of the message.
    is_restarted: bool,
}

impl Prose {
    pub(super) fn push(&mut self, piece: &str) {
        let core = piece.trim();
        if core.is_empty() {
            self.blanks.push_str(piece);
            return;
        }
        let (before, behind) = piece.split_once(core).unwrap_or_default();
        self.blanks.push_str(before);
        if !self.text.is_empty() {
            self.text.push_str(if self.has_gap { "\n" } else { &self.blanks });
        }
        self.text.push_str(core);
        behind.clone_into(&mut self.blanks);
        self.has_gap = false;
    }

    /// Records that a call was removed here.
    pub(super) fn gap(&mut self) {
        self.has_gap = true;
        self.blanks.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Discards all text.
    pub(super) fn restart(&mut self) {
        let is_restarted = self.is_restarted || self.taken > 0;
        *self = Self { is_restarted, ..Self::default() };
    }

    /// Returns the text that was not returned yet.
    pub(super) fn take(&mut self) -> String {
        let news = self.text.get(self.taken..).unwrap_or_default();
        let line_end = if self.is_restarted && self.taken == 0 && !news.is_empty() { "\n" } else { "" };
        let news = format!("{line_end}{news}");
        self.taken = self.text.len();
        news
    }

    /// Returns the text that was already returned.
    pub(super) fn taken(&self) -> &str {
        self.text.get(..self.taken).unwrap_or_default()
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}
