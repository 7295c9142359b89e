//! Compaction of a conversation to fit the context window of a model.
//!
//! First old results are offloaded: an excerpt stays, with a handle to read the rest. Then the model summarizes the turns
//! before the last ones; they are dropped if it does not. Then the last results are offloaded too. The system prompt, the
//! latest prompt, and each call with its result always stay.

mod offload;
mod size;
mod summarize;

#[cfg(test)]
mod tests;

pub(super) use offload::{OffloadedResult, last_turn, offload, results, without_pictures};
pub(super) use size::{fixed, message_size, size};
pub(super) use summarize::{SplitPoint, split_point, summary_request, with_summary};

use crate::chat::Usage;

/// The share of the allowed size to reach by compaction, so that it does not run in each turn.
const GOAL: f64 = 0.6;

/// The estimated bytes per token, before the server has reported the tokens of a request.
const BYTES_PER_TOKEN: f64 = 4.0;

/// The bounds of the bytes per token that a server reports.
const LEAST_BYTES_PER_TOKEN: f64 = 1.5;
const MOST_BYTES_PER_TOKEN: f64 = 6.0;

/// The number of tokens above which a server's count is used.
const MIN_COUNTED_TOKENS: u64 = 200;

/// The number of consecutive context overflows after which the run ends.
const MAX_OVERFLOWS: u32 = 4;

/// The size of a request after the server refused one, as a share of the refused request.
const AFTER_OVERFLOW: f64 = 0.9;

/// The next step of compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    OldResults,
    Summary,
    LastResults,
    Spent,
}

/// The limit of the size of a request, in bytes.
#[derive(Debug)]
pub(super) struct SizeLimit {
    window: f64,
    share: f64,
    bytes_per_token: f64,
    /// The size of the request that the server refused as too long.
    refused: Option<f64>,
    overflows: u32,
    pub(super) stage: Stage,
    /// The size of the last request.
    pub(super) asked: usize,
}

impl SizeLimit {
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

    /// Records the number of tokens of the last request.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn answered(&mut self, usage: Usage) {
        self.overflows = 0;
        if usage.prompt_tokens >= MIN_COUNTED_TOKENS && self.asked > 0 {
            let bytes = self.asked as f64 / usage.prompt_tokens as f64;
            self.bytes_per_token = bytes.clamp(LEAST_BYTES_PER_TOKEN, MOST_BYTES_PER_TOKEN);
        }
    }

    /// Records that the last request was too long. Returns true if another one is to be made.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn overflowed(&mut self) -> bool {
        self.overflows += 1;
        let size = self.asked as f64;
        self.refused = Some(self.refused.map_or(size, |before| before.min(size)));
        self.stage = Stage::default();
        self.overflows < MAX_OVERFLOWS
    }

    /// Returns true if the last request was too long and the next one is not shorter.
    pub(super) fn is_hopeless(&self, size: usize) -> bool {
        self.overflows > 0 && size >= self.asked
    }

    /// Returns the size of a request above which the conversation is compacted.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates, also at zero")]
    pub(super) fn allowed(&self) -> usize {
        let whole = self.window * self.bytes_per_token;
        (self.refused.map_or(whole, |refused| whole.min(refused * AFTER_OVERFLOW)) * self.share) as usize
    }

    /// Returns the size of a request after compaction.
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
