//! Token counts of texts.

use toolcrib_model::text::truncate_bytes;

use std::fmt;
use std::sync::Arc;

/// The average number of bytes of UTF-8 per token, if no tokenizer is given.
const BYTES_PER_TOKEN: usize = 4;

/// The maximum number of bytes per token of a text that is counted. A longer text counts as too long without counting:
/// only long runs of blanks have more bytes per token.
const MAX_BYTES_PER_TOKEN: usize = 16;

/// The number of bytes of a large text that are counted to estimate the tokens of all of it.
const SAMPLE_BYTES: usize = 16 * 1024;

/// A counter for the tokens of texts, according to the tokenizer of a model.
#[derive(Clone)]
pub struct TokenCounter(Arc<dyn Fn(&str) -> u32 + Send + Sync>);

impl TokenCounter {
    /// Creates a counter that calls this function. Tokens must have at least one byte.
    pub fn new(count: impl Fn(&str) -> u32 + Send + Sync + 'static) -> Self {
        Self(Arc::new(count))
    }

    /// Returns the number of tokens of a text.
    pub(crate) fn count(&self, text: &str) -> usize {
        usize::try_from((self.0)(text)).unwrap_or(usize::MAX)
    }

    /// Returns true if a text has at most a number of tokens.
    pub(crate) fn fits(&self, text: &str, tokens: usize) -> bool {
        text.len() <= tokens || text.len() <= Self::most_bytes(tokens) && self.count(text) <= tokens
    }

    /// Returns the maximum size of a text with at most a number of tokens.
    pub(crate) fn most_bytes(tokens: usize) -> usize {
        tokens.saturating_mul(MAX_BYTES_PER_TOKEN)
    }

    /// Returns the estimated number of tokens of a text of a number of bytes with this beginning.
    pub(crate) fn estimate(&self, beginning: &str, bytes: usize) -> usize {
        let sample = truncate_bytes(beginning, SAMPLE_BYTES);
        if sample.is_empty() { 0 } else { self.count(sample).saturating_mul(bytes).div_ceil(sample.len()) }
    }

    /// Returns the beginning of a text that fits in a number of tokens, with nearly the maximum length. It ends with a
    /// line if one ends nearby.
    pub(crate) fn beginning<'t>(&self, text: &'t str, tokens: usize) -> &'t str {
        let mut bytes = tokens.saturating_mul(BYTES_PER_TOKEN);
        loop {
            let part = whole_lines(text, bytes);
            // Tokens have at least one byte, so the loop terminates.
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
    /// Counts one token per four bytes, the rule of thumb for English text and JSON.
    fn default() -> Self {
        Self::new(|text| u32::try_from(text.len().div_ceil(BYTES_PER_TOKEN)).unwrap_or(u32::MAX))
    }
}

impl fmt::Debug for TokenCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenCounter")
    }
}

/// Returns the beginning of a text in a number of bytes, up to the end of a line if one ends in its second half.
fn whole_lines(text: &str, bytes: usize) -> &str {
    // A character takes up to four bytes, and the beginning must contain at least one.
    let part = truncate_bytes(text, bytes.max(4));
    if part.len() == text.len() {
        return part;
    }
    let end = part.rfind('\n').map_or(0, |at| at + 1);
    part.get(..end).filter(|whole| whole.len() >= part.len() / 2).unwrap_or(part)
}
