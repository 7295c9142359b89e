//! How large a text is to a model.

/// Bytes of UTF-8 that make a token, on average.
const BYTES_PER_TOKEN: usize = 4;

/// The tokens of a text: its bytes / 4, rounded up.
///
/// That is the rule of thumb for English text and JSON under the byte-pair vocabularies in use; take it as right to a
/// quarter to either side. Text in other scripts, base64 and long digit strings can be twice as many tokens as
/// estimated: a budget that must hold for such text needs the model's own tokenizer.
///
/// ```
/// assert_eq!(toolcrib_prompt::estimate_tokens("Read a file."), 3);
/// ```
pub fn estimate_tokens(text: &str) -> u32 {
    u32::try_from(text.len().div_ceil(BYTES_PER_TOKEN)).unwrap_or(u32::MAX)
}
