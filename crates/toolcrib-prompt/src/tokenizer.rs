//! The size of texts in tokens.

use std::fmt;

use serde::{Serialize, Serializer};
use tiktoken_rs::tokenizer as tables;

/// Bytes of UTF-8 that make a token, on average.
const BYTES_PER_TOKEN: usize = 4;

/// The longest run of characters of one kind that is tokenized in one piece. A longer one is cut, which may add a
/// token: without the cut, degenerate text that is never sent in earnest could cost more work than all other text.
const MAX_RUN_CHARS: usize = 256;

/// The error of an estimate in either direction, in percent, for English text and JSON.
pub const ESTIMATE_MARGIN_PERCENT: u32 = 25;

/// A tokenizer, which splits texts into the tokens of a model.
///
/// ```
/// use toolcrib_prompt::Tokenizer;
/// let tokenizer = Tokenizer::of_model("gpt-5-mini");
/// assert_eq!((tokenizer, tokenizer.count("Read a file.")), (Tokenizer::O200k, 4));
/// assert_eq!(Tokenizer::of_model("llama3.1"), Tokenizer::Estimate);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Tokenizer {
    /// `o200k_base`: GPT-4o and its successors, and the open models of `OpenAI`.
    O200k,
    /// `cl100k_base`: GPT-4 and GPT-3.5.
    Cl100k,
    /// No known table: [`estimate_tokens`].
    #[default]
    Estimate,
}

impl Tokenizer {
    /// Returns the tokenizer of a model, by its name at a provider. The text before a slash names the provider.
    pub fn of_model(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model);
        match tables::get_tokenizer(name) {
            Some(tables::Tokenizer::O200kBase | tables::Tokenizer::O200kHarmony) => Self::O200k,
            Some(tables::Tokenizer::Cl100kBase) => Self::Cl100k,
            // The tables of older models are not worth their size, and those of newer models are unknown.
            _ if name.starts_with("gpt-oss") => Self::O200k,
            _ => Self::Estimate,
        }
    }

    /// Counts the tokens of a text. The first text of a tokenizer waits until its table is loaded, some tenths of a
    /// second.
    pub fn count(self, text: &str) -> u32 {
        let table = match self {
            Self::O200k => tiktoken_rs::o200k_base_singleton(),
            Self::Cl100k => tiktoken_rs::cl100k_base_singleton(),
            Self::Estimate => return estimate_tokens(text),
        };
        let tokens: usize = slices(text).map(|slice| table.count_ordinary(slice)).sum();
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }

    /// Returns true if a text certainly has at most this number of tokens. This is mostly decided without reading the
    /// text.
    pub(crate) fn fits(self, bytes: usize, tokens: u64) -> bool {
        let most = match self {
            Self::Estimate => bytes.div_ceil(BYTES_PER_TOKEN),
            // No token is shorter than a byte.
            Self::O200k | Self::Cl100k => bytes,
        };
        u64::try_from(most).is_ok_and(|most| most <= tokens)
    }

    /// Returns `o200k_base`, `cl100k_base` or `bytes / 4`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::O200k => "o200k_base",
            Self::Cl100k => "cl100k_base",
            Self::Estimate => "bytes / 4",
        }
    }
}

impl fmt::Display for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Estimate => write!(f, "{}, ± {ESTIMATE_MARGIN_PERCENT} %", self.as_str()),
            table => f.write_str(table.as_str()),
        }
    }
}

impl Serialize for Tokenizer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Returns the estimated tokens of a text: its bytes / 4, rounded up.
///
/// This is the rule of thumb for English text and JSON under common byte-pair vocabularies; its error is up to
/// [`ESTIMATE_MARGIN_PERCENT`] in either direction. Text in other scripts, base64 and long digit strings can have twice
/// the estimated tokens.
///
/// ```
/// assert_eq!(toolcrib_prompt::tokenizer::estimate_tokens("Read a file."), 3);
/// ```
pub fn estimate_tokens(text: &str) -> u32 {
    u32::try_from(text.len().div_ceil(BYTES_PER_TOKEN)).unwrap_or(u32::MAX)
}

/// Returns the text, cut if a run of letters and digits, of blanks or of other characters is longer than
/// [`MAX_RUN_CHARS`]. Tokens do not span runs, except for a character at the beginning of a run.
fn slices(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (slice, after) = rest.split_at(first_cut(rest));
        rest = after;
        Some(slice)
    })
}

fn first_cut(text: &str) -> usize {
    let (mut kind, mut run) = (CharClass::Blank, 0);
    for (at, c) in text.char_indices() {
        let next = CharClass::of(c);
        run = if next == kind { run + 1 } else { 1 };
        kind = next;
        if run > MAX_RUN_CHARS {
            return at;
        }
    }
    text.len()
}

#[derive(PartialEq, Eq)]
enum CharClass {
    Word,
    Blank,
    Other,
}

impl CharClass {
    fn of(c: char) -> Self {
        if c.is_alphanumeric() {
            Self::Word
        } else if c.is_whitespace() {
            Self::Blank
        } else {
            Self::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_model_is_counted_with_its_own_table_and_an_unknown_one_is_estimated() {
        for (model, tokenizer) in [
            ("gpt-5-mini", Tokenizer::O200k),
            ("gpt-4o-2024-08-06", Tokenizer::O200k),
            ("openai/gpt-oss-120b", Tokenizer::O200k),
            ("gpt-oss:20b", Tokenizer::O200k),
            ("ft:gpt-4o-mini:house::id", Tokenizer::O200k),
            ("gpt-4-turbo", Tokenizer::Cl100k),
            ("davinci", Tokenizer::Estimate),
            ("mistral-large-latest", Tokenizer::Estimate),
            ("", Tokenizer::Estimate),
        ] {
            assert_eq!(Tokenizer::of_model(model), tokenizer, "{model}");
        }
    }

    #[test]
    fn the_tables_split_as_their_makers_say() {
        // The examples of OpenAI's cookbook, "How to count tokens with tiktoken".
        let texts = ["antidisestablishmentarianism", "2 + 2 = 4", "お誕生日おめでとう", ""];
        for (tokenizer, counts) in [(Tokenizer::Cl100k, [6, 7, 9, 0]), (Tokenizer::O200k, [6, 7, 8, 0])] {
            assert_eq!(texts.map(|text| tokenizer.count(text)), counts);
        }
    }

    #[test]
    fn a_run_of_any_length_is_counted_within_its_bounds() {
        for piece in ["a", " ", "\n", "=", "天", "7", "\u{301}", "A"] {
            let text = piece.repeat(50_000);
            let tokens = Tokenizer::O200k.count(&text) as usize;
            assert!((1..=text.len()).contains(&tokens), "{piece:?}: {tokens}");
        }
    }

    proptest! {
        #[test]
        fn what_fits_by_its_bytes_fits_by_its_tokens(text in any::<String>()) {
            for tokenizer in [Tokenizer::O200k, Tokenizer::Cl100k, Tokenizer::Estimate] {
                let tokens = u64::from(tokenizer.count(&text));
                prop_assert!(!tokenizer.fits(text.len(), tokens.saturating_sub(1)) || tokens == 0);
            }
        }

        #[test]
        fn slices_make_up_the_text(text in "([a-z]{0,300}|[ \n]{0,300}|[-=天]{0,300}){0,4}") {
            prop_assert_eq!(slices(&text).collect::<String>(), text);
        }
    }
}
