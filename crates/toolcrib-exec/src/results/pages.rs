//! A text in pages.

use super::seek::Asker;
use super::tokens::TokenCounter;

/// A page of a text.
pub(super) struct Page<'t> {
    pub(super) text: &'t str,
    /// The byte of the whole text that it begins at.
    pub(super) start: usize,
    /// Whether another page follows.
    pub(super) has_next: bool,
    /// How many pages there are.
    pub(super) count: Count,
}

/// How many pages a text has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    Exact(usize),
    /// The text was not counted to its end.
    About(usize),
}

/// Finds the pages of a text, each of a number of tokens at most. Together they are the text.
pub(super) struct Pages<'t> {
    text: &'t str,
    tokens: usize,
    counter: &'t TokenCounter,
}

impl<'t> Pages<'t> {
    pub(super) fn new(text: &'t str, tokens: usize, counter: &'t TokenCounter) -> Self {
        Self { text, tokens: tokens.max(4), counter }
    }

    /// Returns a page, counted from 1. `starts` are the beginnings of pages that are known, and of those that are found on
    /// the way. An error is the number of pages of a text that has fewer.
    pub(super) fn get(&self, page: usize, starts: &mut Vec<usize>, asker: &Asker) -> Result<Page<'t>, usize> {
        let position = page.saturating_sub(1);
        if starts.is_empty() {
            starts.push(0);
        }
        while starts.len() <= position + 1 && !asker.is_gone() {
            let last = starts.last().copied().unwrap_or_default();
            let next = last + self.at(last).len();
            if next >= self.text.len() {
                break;
            }
            starts.push(next);
        }
        let start = starts.get(position).copied().filter(|_| page > 0).ok_or(starts.len())?;
        let text = self.at(start);
        let (end, known) = (start + text.len(), starts.len());
        let has_next = end < self.text.len();
        let last = starts.last().copied().unwrap_or_default();
        let count = if last + self.at(last).len() >= self.text.len() {
            Count::Exact(known)
        } else {
            // As large as those before, on average.
            let before = known.saturating_sub(1);
            Count::About(
                before + (self.text.len() - last).saturating_mul(before).div_ceil(last.max(1)).max(2),
            )
        };
        Ok(Page { text, start, has_next, count })
    }

    fn at(&self, start: usize) -> &'t str {
        self.counter.beginning(self.text.get(start..).unwrap_or_default(), self.tokens)
    }
}
