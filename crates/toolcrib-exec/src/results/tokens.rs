//! How many tokens a text is to the model that reads it.

use std::fmt;
use std::sync::Arc;

use super::words::head;

/// Bytes of UTF-8 that make a token where no table is given, on average.
const BYTES_PER_TOKEN: usize = 4;

/// The most bytes per token of a text that is counted. A longer text counts as too long without a look at it: only long
/// runs of blanks have more.
const MAX_BYTES_PER_TOKEN: usize = 16;

/// How much of a large text is counted to estimate the tokens of all of it, in bytes.
const SAMPLE_BYTES: usize = 16 * 1024;

/// Counts the tokens of texts, as the tokenizer of a model does.
#[derive(Clone)]
pub struct TokenCounter(Arc<dyn Fn(&str) -> u32 + Send + Sync>);

impl TokenCounter {
    /// A counter that asks this function. No token may be shorter than a byte.
    pub fn new(count: impl Fn(&str) -> u32 + Send + Sync + 'static) -> Self {
        Self(Arc::new(count))
    }

    /// Returns the tokens of a text.
    pub(super) fn count(&self, text: &str) -> usize {
        usize::try_from((self.0)(text)).unwrap_or(usize::MAX)
    }

    /// Returns whether a text has no more than a number of tokens.
    pub(super) fn fits(&self, text: &str, tokens: usize) -> bool {
        text.len() <= tokens || text.len() <= Self::most_bytes(tokens) && self.count(text) <= tokens
    }

    /// Returns the most bytes of a text that may have no more than a number of tokens.
    pub(super) fn most_bytes(tokens: usize) -> usize {
        tokens.saturating_mul(MAX_BYTES_PER_TOKEN)
    }

    /// Returns about how many tokens a text of a number of bytes has that begins so.
    pub(super) fn estimate(&self, beginning: &str, bytes: usize) -> usize {
        let sample = head(beginning, SAMPLE_BYTES);
        if sample.is_empty() { 0 } else { self.count(sample).saturating_mul(bytes).div_ceil(sample.len()) }
    }

    /// Returns the beginning of a text that fits in a number of tokens, nearly as long as one can be. It ends with a line
    /// where one ends near.
    pub(super) fn beginning<'t>(&self, text: &'t str, tokens: usize) -> &'t str {
        let mut bytes = tokens.saturating_mul(BYTES_PER_TOKEN);
        loop {
            let part = whole_lines(text, bytes);
            // No token is shorter than a byte, so that this ends.
            if part.len() <= tokens {
                return part;
            }
            let count = self.count(part);
            if count <= tokens {
                return part;
            }
            bytes = (part.len().saturating_mul(tokens) / count).min(part.len() - part.len() / 16 - 1);
        }
    }
}

impl Default for TokenCounter {
    /// Counts a token for four bytes, the rule of thumb for English text and JSON.
    fn default() -> Self {
        Self::new(|text| u32::try_from(text.len().div_ceil(BYTES_PER_TOKEN)).unwrap_or(u32::MAX))
    }
}

impl fmt::Debug for TokenCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenCounter")
    }
}

/// Returns the beginning of a text in a number of bytes, up to the end of a line where one ends in its second half.
fn whole_lines(text: &str, bytes: usize) -> &str {
    // A character takes up to four bytes, and the beginning holds at least one.
    let part = head(text, bytes.max(4));
    if part.len() == text.len() {
        return part;
    }
    let end = part.rfind('\n').map_or(0, |at| at + 1);
    part.get(..end).filter(|whole| whole.len() >= part.len() / 2).unwrap_or(part)
}
