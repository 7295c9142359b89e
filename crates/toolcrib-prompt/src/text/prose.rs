//! The message without its calls.

/// Collects what stands around calls, and gives it out piece by piece. Blanks at its ends fall away, and around a call
/// they become one line end.
#[derive(Debug, Default)]
pub(super) struct Prose {
    text: String,
    /// Blanks that count when more follows.
    blanks: String,
    /// Whether something was taken out behind the last text.
    has_gap: bool,
    /// How much of the text was given out.
    taken: usize,
    /// Whether what was given out before is no longer part of the text.
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

    /// Something is taken out here.
    pub(super) fn gap(&mut self) {
        self.has_gap = true;
        self.blanks.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Forgets everything.
    pub(super) fn restart(&mut self) {
        let is_restarted = self.is_restarted || self.taken > 0;
        *self = Self { is_restarted, ..Self::default() };
    }

    /// What was not given out yet.
    pub(super) fn take(&mut self) -> String {
        let news = self.text.get(self.taken..).unwrap_or_default();
        let line_end = if self.is_restarted && self.taken == 0 && !news.is_empty() { "\n" } else { "" };
        let news = format!("{line_end}{news}");
        self.taken = self.text.len();
        news
    }

    /// What was given out.
    pub(super) fn taken(&self) -> &str {
        self.text.get(..self.taken).unwrap_or_default()
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}
