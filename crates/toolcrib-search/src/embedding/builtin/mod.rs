//! The built-in embedder: a table of vectors inside the binary.
//!
//! The vector of a text is the normalized sum of the rows of its tokens. `cargo xtask distill` makes the rows so that
//! these vectors approximate those of a sentence transformer at a thousandth of its cost. `assets/builtin.json` records
//! the sources and the settings.

mod encode;
mod table;

mod character_class;
mod wordpiece;

#[cfg(test)]
mod tests;

use super::{EmbedError, Embedder};

pub use encode::NewToken;
pub use table::{MAX_TABLE_ROWS, MAX_TOKEN_BYTES, Table, TableError, TokenId};
pub use wordpiece::{MAX_TEXT_BYTES, MAX_TEXT_TOKENS, MAX_WORD_CHARACTERS};

/// The table that ships.
static TABLE: &[u8] = include_bytes!("../../../assets/builtin.bin");

/// An embedder that looks up the tokens of a text in a table. It needs no file, no library and no initialization: the
/// table is a part of the binary and is read in place.
///
/// It knows English, and those words of other languages that occur in English texts. A text without any known token
/// gets a vector of zeros and a [coverage](Embedder::coverage) of 0.
#[derive(Clone, Debug)]
pub struct BuiltinEmbedder {
    id: String,
    table: Table<'static>,
}

impl BuiltinEmbedder {
    /// Creates an embedder with the built-in table.
    pub fn new() -> Result<Self, EmbedError> {
        let wrong = |error: TableError| EmbedError::Model {
            model: "the built-in table".to_owned(),
            message: error.to_string(),
        };
        Table::parse(TABLE).map(Self::over).map_err(wrong)
    }

    /// Creates an embedder with another table.
    pub fn over(table: Table<'static>) -> Self {
        Self { id: format!("builtin:{}", table.short_digest()), table }
    }

    /// Returns the vector of one text. It has length one, or is all zeros if no token is known.
    pub fn embed_one(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0; self.table.dimension()];
        for token in self.table.tokens(text) {
            self.table.add_row(token, &mut sum);
        }
        let length = sum.iter().map(|number| number * number).sum::<f32>().sqrt();
        if length > 0.0 {
            for number in &mut sum {
                *number /= length;
            }
        }
        sum
    }
}

impl Embedder for BuiltinEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimension(&self) -> usize {
        self.table.dimension()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| self.embed_one(text)).collect())
    }

    fn coverage(&self, text: &str) -> f32 {
        self.table.coverage(text)
    }
}
