//! The state of a notification in progress.

use serde::{Deserialize, Serialize};

use crate::Action;

/// A notification and its follow-up actions. It is persisted from before the notification until all actions have ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Firing {
    /// The run key of the check.
    pub(super) key: String,
    pub(super) text: String,
    pub(super) is_told: bool,
    /// The follow-up actions, in order.
    steps: Vec<FollowUp>,
    /// The number of completed actions.
    done: usize,
    /// True if the next action has started and may not be repeated.
    pub(super) is_under_way: bool,
}

/// A follow-up action.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FollowUp {
    pub(super) action: Action,
    /// True if it contains parts of a result.
    pub(super) is_filled: bool,
}

impl Firing {
    pub(super) fn new(key: String, text: String, steps: Vec<FollowUp>) -> Self {
        Self { key, text, is_told: false, steps, done: 0, is_under_way: false }
    }

    /// Returns the next action with its run key.
    pub(super) fn next(&self) -> Option<(&FollowUp, String)> {
        Some((self.steps.get(self.done)?, format!("{}-{}", self.key, self.done + 1)))
    }

    pub(super) fn advance(&mut self) {
        self.done += 1;
        self.is_under_way = false;
    }
}
