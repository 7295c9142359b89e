//! Noticing that a model runs in circles, or looks for tools without using any.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use toolcrib_model::tool::DiscoveryStep;

use super::limits::{REPEAT_WINDOW, STOP_AFTER_REPEATS};

/// After how many identical calls in a row the model is told so.
pub(crate) const NOTE_AFTER_REPEATS: usize = 3;

/// The response to a repeated call.
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

/// After how many searches without a call the model is shown how the best match is called.
pub(crate) const HINT_AFTER_SEARCHES: u32 = 2;

/// After how many searches without a call the model is told to answer or to ask.
pub(crate) const ANSWER_AFTER_SEARCHES: u32 = 4;

/// Counts the searches since the last call of a tool.
#[derive(Debug, Default)]
pub(super) struct SearchGuard {
    searches: u32,
}

impl SearchGuard {
    /// Takes a call in: what step of the discovery it is, and nothing for a call of a tool. Gives the searches so far where
    /// this is one.
    pub(super) fn observe(&mut self, step: Option<DiscoveryStep>) -> Option<u32> {
        match step {
            Some(DiscoveryStep::Discover) => {
                self.searches += 1;
                Some(self.searches)
            }
            Some(DiscoveryStep::Inspect) => None,
            Some(_) | None => {
                self.searches = 0;
                None
            }
        }
    }
}
