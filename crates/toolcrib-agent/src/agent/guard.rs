//! Noticing that a model runs in circles.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// After how many identical calls in a row the model is told so.
pub const NOTE_AFTER_REPEATS: usize = 3;

/// After how many identical calls among the last [`REPEAT_WINDOW`] the run is ended.
pub const STOP_AFTER_REPEATS: usize = 8;

/// How many calls are looked back on.
pub const REPEAT_WINDOW: usize = 20;

/// What is to be done about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repetition {
    None,
    Note,
    Stop,
}

/// The last calls, as hashes of name and arguments.
#[derive(Debug, Default)]
pub(super) struct RepeatGuard {
    recent: VecDeque<u64>,
}

impl RepeatGuard {
    /// Takes a call in, its arguments in a form that is the same for the same arguments.
    pub(super) fn observe(&mut self, name: &str, arguments: &str) -> Repetition {
        let mut hasher = DefaultHasher::new();
        (name, arguments).hash(&mut hasher);
        let call = hasher.finish();
        if self.recent.len() == REPEAT_WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back(call);
        let in_a_row = self.recent.iter().rev().take_while(|recent| **recent == call).count();
        if self.recent.iter().filter(|recent| **recent == call).count() >= STOP_AFTER_REPEATS {
            Repetition::Stop
        } else if in_a_row >= NOTE_AFTER_REPEATS {
            Repetition::Note
        } else {
            Repetition::None
        }
    }
}
