//! Pagination of texts.

use crate::read_result::cancellable_search::CancelFlag;
use crate::tokens::TokenCounter;

/// A page of a text.
pub(crate) struct Page<'t> {
    pub(crate) text: &'t str,
    /// The byte position of the page in the text.
    pub(crate) start: usize,
    /// True if another page follows.
    pub(crate) has_next: bool,
    /// The number of pages.
    pub(crate) count: Count,
}

/// The number of pages of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    Exact(usize),
    /// An estimate, since the text was not read to its end.
    About(usize),
}

/// A text divided into pages with a maximum number of tokens.
pub(crate) struct Pages<'t> {
    text: &'t str,
    tokens: usize,
    counter: &'t TokenCounter,
}

impl<'t> Pages<'t> {
    pub(crate) fn new(text: &'t str, tokens: usize, counter: &'t TokenCounter) -> Self {
        Self { text, tokens: tokens.max(4), counter }
    }

    /// Returns a page, counted from 1. `starts` holds the known start positions of pages, and receives those that are
    /// found. The error is the number of pages of a text that has fewer.
    pub(crate) fn get(
        &self,
        page: usize,
        starts: &mut Vec<usize>,
        cancel: &CancelFlag,
    ) -> Result<Page<'t>, usize> {
        let position = page.saturating_sub(1);
        if starts.is_empty() {
            starts.push(0);
        }
        while starts.len() <= position + 1 && !cancel.is_cancelled() {
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
            // The estimate assumes the average size of the pages before.
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
