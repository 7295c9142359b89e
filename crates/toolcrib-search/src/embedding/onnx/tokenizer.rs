//! The tokens of a text, by the `tokenizer.json` of a model.

use serde::Deserialize;
use serde_json::Number;
use tokenizers::{Tokenizer, TruncationParams};
use toolcrib_model::text::truncate_bytes;

use super::catalogue::{SETTINGS_FILES, TOKENIZER_FILE};
use super::limits::MAX_TOKENS;

/// The most bytes of one text that are read: 64 for each token.
const MAX_TEXT_BYTES: usize = 64 * MAX_TOKENS;

/// The fewest tokens that a text is cut to, more than the special tokens that every text gets.
const MIN_TOKENS: usize = 8;

/// A tokenizer that adds the special tokens of its model, pads nothing, and cuts long texts.
pub(super) struct TextTokenizer(Tokenizer);

/// The tokens of a text, and the segment of each of them.
pub(super) struct Tokens {
    pub(super) ids: Vec<u32>,
    pub(super) segments: Vec<u32>,
}

/// The settings of a tokenizer that are of interest.
#[derive(Default, Deserialize)]
struct TokenizerSettings {
    /// The most tokens that its model reads. Some models have a number that no integer holds, for no limit.
    model_max_length: Option<Number>,
}

impl TextTokenizer {
    /// Reads a tokenizer, and `tokenizer_config.json` if there is one.
    pub(super) fn parse(tokenizer: &[u8], settings: Option<&[u8]>) -> Result<Self, String> {
        let [_, _, settings_file] = SETTINGS_FILES;
        let settings: Option<TokenizerSettings> = settings
            .map(serde_json::from_slice)
            .transpose()
            .map_err(|error| format!("{settings_file}: {error}"))?;
        let wrong = |error: tokenizers::Error| format!("{TOKENIZER_FILE}: {error}");
        let mut tokenizer = Tokenizer::from_bytes(tokenizer).map_err(wrong)?;
        let longest = settings.unwrap_or_default().model_max_length.and_then(|length| length.as_u64());
        let longest = longest.and_then(|length| usize::try_from(length).ok()).unwrap_or(MAX_TOKENS);
        let max_length = longest.clamp(MIN_TOKENS, MAX_TOKENS);
        let truncation = TruncationParams { max_length, ..TruncationParams::default() };
        tokenizer.with_padding(None).with_truncation(Some(truncation)).map_err(wrong)?;
        Ok(Self(tokenizer))
    }

    /// Returns the number of tokens that it knows.
    pub(super) fn size(&self) -> usize {
        self.0.get_vocab_size(true)
    }

    /// Returns the tokens of a text.
    pub(super) fn tokens(&self, text: &str) -> Result<Tokens, String> {
        let encoding = self.0.encode_fast(truncate_bytes(text, MAX_TEXT_BYTES), true);
        let encoding = encoding.map_err(|error| format!("{TOKENIZER_FILE}: {error}"))?;
        Ok(Tokens { ids: encoding.get_ids().to_vec(), segments: encoding.get_type_ids().to_vec() })
    }
}
