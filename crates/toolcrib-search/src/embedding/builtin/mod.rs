//! The built-in embedder: two tables of vectors inside the binary.
//!
//! The vector of a text is the normalized sum of the rows of its tokens. `cargo xtask distill` makes the rows so that
//! these vectors approximate those of a sentence transformer at a thousandth of its cost. `assets/builtin.json` records
//! the sources and the settings.
//!
//! The rows of the multilingual table are trained so that the vector of a text is that of its English translation in
//! the English table. A request in another language is thus compared with tools that are described in English.

mod encode;
mod table;

mod character_class;
mod language;
mod pieces;
mod wordpiece;

#[cfg(test)]
mod tests;

use super::{EmbedError, Embedder};

pub use encode::NewToken;
pub use table::{MAX_TABLE_ROWS, MAX_TOKEN_BYTES, RowFormat, Table, TableError, TokenId};
pub use wordpiece::{MAX_TEXT_BYTES, MAX_TEXT_TOKENS, MAX_WORD_CHARACTERS};

/// The table of English words.
static TABLE: &[u8] = include_bytes!("../../../assets/builtin.bin");

/// The table of the words of 49 other languages, with rows in the space of the English table: the vector of a text is near
/// that of its English translation.
static MULTILINGUAL_TABLE: &[u8] = include_bytes!("../../../assets/multilingual.bin");

/// An embedder that looks up the tokens of a text in a table. It needs no file, no library and no initialization: the
/// table is a part of the binary and is read in place.
///
/// A text in English is embedded by one table, and a text in any of 49 other languages by another. A text without any
/// known token gets a vector of zeros and a [coverage](Embedder::coverage) of 0.
#[derive(Clone, Debug)]
pub struct BuiltinEmbedder {
    id: String,
    english: Table<'static>,
    multilingual: Option<Table<'static>>,
}

impl BuiltinEmbedder {
    /// Creates an embedder with the built-in table.
    pub fn new() -> Result<Self, EmbedError> {
        let wrong = |error: TableError| EmbedError::Model {
            model: "the built-in table".to_owned(),
            message: error.to_string(),
        };
        let english = Table::parse(TABLE).map_err(wrong)?;
        let multilingual = Table::parse(MULTILINGUAL_TABLE).map_err(wrong)?;
        let id = format!("builtin:{}:{}", english.short_digest(), multilingual.short_digest());
        Ok(Self { id, english, multilingual: Some(multilingual) })
    }

    /// Creates an embedder with another table, for English alone.
    pub fn over(table: Table<'static>) -> Self {
        Self { id: format!("builtin:{}", table.short_digest()), english: table, multilingual: None }
    }

    /// Returns the multilingual table, if the text is not in English.
    fn multilingual_for(&self, text: &str) -> Option<&Table<'static>> {
        self.multilingual.as_ref().filter(|_| !self.is_english(text))
    }

    /// Returns the vector of one text. It has length one, or is all zeros if no token is known.
    pub fn embed_one(&self, text: &str) -> Vec<f32> {
        match self.multilingual_for(text) {
            Some(multilingual) => sum_of(multilingual, multilingual.pieces(text)),
            None => sum_of(&self.english, self.english.tokens(text)),
        }
    }
}

/// Returns the normalized sum of the rows of these tokens.
fn sum_of(table: &Table<'_>, tokens: Vec<TokenId>) -> Vec<f32> {
    let mut sum = vec![0.0; table.dimension()];
    for token in tokens {
        table.add_row(token, &mut sum);
    }
    let length = sum.iter().map(|number| number * number).sum::<f32>().sqrt();
    if length > 0.0 {
        for number in &mut sum {
            *number /= length;
        }
    }
    sum
}

impl Embedder for BuiltinEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimension(&self) -> usize {
        self.english.dimension()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| self.embed_one(text)).collect())
    }

    fn coverage(&self, text: &str) -> f32 {
        match self.multilingual_for(text) {
            Some(multilingual) => multilingual.share_of_known_pieces(&multilingual.pieces(text)),
            None => self.english.coverage(text),
        }
    }

    fn is_english(&self, text: &str) -> bool {
        language::is_english(&self.english, text)
    }
}
