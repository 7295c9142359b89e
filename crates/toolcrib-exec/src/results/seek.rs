//! Looking for patterns that models write, in steps between which it can be given up.
//!
//! A pattern takes time linear in the text, but the factor is the size of the pattern, and a hostile one of a few bytes
//! takes minutes for a large result. A thread cannot be stopped from outside, so it looks by itself whether anybody still
//! waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use regex::Regex;

/// The most bytes that are looked at before it is looked whether anybody still waits.
const PIECE_BYTES: usize = 8 * 1024;

/// How far pieces of a text overlap. A match that is longer may be missed where a longer text is taken to pieces.
const OVERLAP_BYTES: usize = 1024;

/// Whether whoever asked still waits. A clone is the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Asker(Arc<AtomicBool>);

/// Says, when it is dropped, that nobody waits any more.
#[derive(Debug)]
pub(super) struct Waiting(Asker);

impl Asker {
    /// Stays with whoever waits.
    pub(super) fn waiting(&self) -> Waiting {
        Waiting(self.clone())
    }

    /// Whether nobody waits any more.
    pub(super) fn is_gone(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Where a pattern is found in a text first; `None` when that is nowhere, or when nobody waits for it any more.
pub(super) fn find(pattern: &Regex, text: &str, asker: &Asker) -> Option<usize> {
    let mut start = 0;
    loop {
        let end = text.floor_char_boundary(start + PIECE_BYTES);
        // What stands before the piece counts for `^` and `\b`. The end of a piece is taken for that of the text.
        if let Some(found) = pattern.find_at(text.get(..end)?, start) {
            return Some(found.start());
        }
        if end == text.len() || asker.is_gone() {
            return None;
        }
        start = text.floor_char_boundary(end - OVERLAP_BYTES);
    }
}
