//! Keeping a conversation within what a model takes in.
//!
//! First old results make room, each for its beginning and the handle by which the rest is read; then what is older than
//! the last turns is put in a summary that the model writes, or dropped where it does not; then the last results make
//! room too. The system prompt, the latest prompt, and each call with its result always stay.

mod aside;
mod fold;
mod size;

#[cfg(test)]
mod tests;

pub(super) use aside::{Put, last_turn, put_in_place, results, without_pictures};
pub(super) use fold::{Fold, fold, folded, summary_request};
pub(super) use size::{fixed, size};

use crate::Usage;

/// The share of the context window from which on room is made by default. What is left has room for the answer, and for
/// an estimate that is wrong by a quarter.
pub const DEFAULT_COMPACT_AT: f64 = 0.75;

/// The share of what is allowed that is to be left when room has been made, so that it is not made in each turn.
const GOAL: f64 = 0.6;

/// Bytes that make a token, before the server has said how many tokens a request had.
const BYTES_PER_TOKEN: f64 = 4.0;

/// The bounds of what a server may say of that.
const LEAST_BYTES_PER_TOKEN: f64 = 1.5;
const MOST_BYTES_PER_TOKEN: f64 = 6.0;

/// From how many tokens on a server's count says something.
const MIN_COUNTED_TOKENS: u64 = 200;

/// How often in a row a server may say that a request is too long before the run ends.
const MAX_OVERFLOWS: u32 = 4;

/// What a request may be as large as after the server refused one: this share of that one.
const AFTER_OVERFLOW: f64 = 0.9;

/// How room is made next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    OldResults,
    Summary,
    LastResults,
    Spent,
}

/// How much room there is, in bytes of a request.
#[derive(Debug)]
pub(super) struct Room {
    window: f64,
    share: f64,
    bytes_per_token: f64,
    /// What the server has taken for too long.
    refused: Option<f64>,
    overflows: u32,
    pub(super) stage: Stage,
    /// The size of the last request.
    pub(super) asked: usize,
}

impl Room {
    pub(super) fn new(window: u32, share: f64) -> Self {
        Self {
            window: f64::from(window),
            share,
            bytes_per_token: BYTES_PER_TOKEN,
            refused: None,
            overflows: 0,
            stage: Stage::default(),
            asked: 0,
        }
    }

    /// Takes in how many tokens the last request had.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn answered(&mut self, usage: Usage) {
        self.overflows = 0;
        if usage.prompt_tokens >= MIN_COUNTED_TOKENS && self.asked > 0 {
            let bytes = self.asked as f64 / usage.prompt_tokens as f64;
            self.bytes_per_token = bytes.clamp(LEAST_BYTES_PER_TOKEN, MOST_BYTES_PER_TOKEN);
        }
    }

    /// Takes in that the last request was too long. Whether there is to be another one.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn overflowed(&mut self) -> bool {
        self.overflows += 1;
        let size = self.asked as f64;
        self.refused = Some(self.refused.map_or(size, |before| before.min(size)));
        self.stage = Stage::default();
        self.overflows < MAX_OVERFLOWS
    }

    /// Whether the last request was too long, and the next one is not shorter.
    pub(super) fn is_hopeless(&self, size: usize) -> bool {
        self.overflows > 0 && size >= self.asked
    }

    /// How large a request may be before room is made.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates, also at zero")]
    pub(super) fn allowed(&self) -> usize {
        let whole = self.window * self.bytes_per_token;
        (self.refused.map_or(whole, |refused| whole.min(refused * AFTER_OVERFLOW)) * self.share) as usize
    }

    /// How large it is to be then.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an estimate"
    )]
    pub(super) fn goal(&self) -> usize {
        (self.allowed() as f64 * GOAL) as usize
    }
}
