//! Cancellable search for patterns that models write.
//!
//! A search takes time linear in the text, but the factor is the size of the pattern, and a hostile pattern of a few
//! bytes takes minutes for a large result. A thread cannot be stopped from outside, so it checks regularly for
//! cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use regex::Regex;

/// The number of bytes that are searched between two checks for cancellation.
const PIECE_BYTES: usize = 8 * 1024;

/// The overlap of the searched pieces. A longer match may be missed in a text of several pieces.
const OVERLAP_BYTES: usize = 1024;

/// A cancellation flag that blocking work checks. Clones share the flag.
#[derive(Clone, Debug, Default)]
pub(crate) struct CancelFlag(Arc<AtomicBool>);

/// A guard that sets the flag when it is dropped.
#[derive(Debug)]
pub(crate) struct CancelOnDrop(CancelFlag);

impl CancelFlag {
    /// Returns the guard, which the waiting future holds.
    pub(crate) fn cancel_on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }

    /// Returns true if the request was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Returns the position of the first match of a pattern in a text; `None` without a match, or if the search was
/// cancelled.
pub(crate) fn find(pattern: &Regex, text: &str, cancel: &CancelFlag) -> Option<usize> {
    let mut start = 0;
    loop {
        let end = text.floor_char_boundary(start + PIECE_BYTES);
        // The text before the piece counts for `^` and `\b`. The end of a piece counts as the end of the text.
        if let Some(found) = pattern.find_at(text.get(..end)?, start) {
            return Some(found.start());
        }
        if end == text.len() || cancel.is_cancelled() {
            return None;
        }
        start = text.floor_char_boundary(end - OVERLAP_BYTES);
    }
}
