//! The tokens of the teacher, and which of them the table has.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sha2::{Digest, Sha256};
use toolcrib_search::embedding::{NewToken, RowFormat, Table, TokenId};

use crate::vectors::Vectors;

/// What marks a token that continues a word.
const CONTINUATION: &str = "##";

/// What every text of the teacher begins and ends with.
const START: &str = "[CLS]";
const END: &str = "[SEP]";
const UNKNOWN: &str = "[UNK]";

/// A token of the table.
struct Token {
    text: String,
    continues: bool,
    /// Its number for the teacher.
    id: i64,
}

/// All tokens but the special ones and those that the teacher has never used, such as begin words first.
pub(crate) struct Vocabulary {
    tokens: Vec<Token>,
    start: i64,
    end: i64,
    unknown: i64,
    /// How many tokens the teacher has.
    pub(crate) size: usize,
    /// The digest of its tokens and their numbers.
    pub(crate) digest: String,
}

impl Vocabulary {
    /// Reads `vocab.txt` of a folder, or else `tokenizer.json`.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let ids = match fs::read_to_string(folder.join("vocab.txt")) {
            Ok(text) => text.lines().zip(0..).map(|(token, id)| (id, token.to_owned())).collect(),
            Err(_) => of_json(&folder.join("tokenizer.json"))?,
        };
        Self::new(&ids)
    }

    pub(crate) fn new(ids: &BTreeMap<i64, String>) -> Result<Self> {
        let special = |name: &str| {
            let found = ids.iter().find(|(_, token)| *token == name).map(|(id, _)| *id);
            found.with_context(|| format!("the teacher has no token {name}: its tokenizer is not BERT's"))
        };
        let mut digest = Sha256::new();
        let mut tokens: Vec<Token> = Vec::new();
        for (id, text) in ids {
            digest.update(id.to_le_bytes());
            digest.update(text);
            let is_special = text.len() > 2 && text.starts_with('[') && text.ends_with(']');
            let (text, continues) = match text.strip_prefix(CONTINUATION) {
                Some(rest) if !rest.is_empty() => (rest, true),
                _ => (text.as_str(), false),
            };
            if !is_special && !text.is_empty() {
                tokens.push(Token { text: text.to_owned(), continues, id: *id });
            }
        }
        tokens.sort_by_key(|token| token.continues);
        Ok(Self {
            tokens,
            start: special(START)?,
            end: special(END)?,
            unknown: special(UNKNOWN)?,
            size: ids.len(),
            digest: format!("{:x}", digest.finalize()),
        })
    }

    /// A table of these tokens without sense, for cutting texts into them.
    pub(crate) fn bare_table(&self) -> Result<Table<'static>> {
        parsed(self.table(&Vectors::zeros(self.tokens.len(), 1))?)
    }

    /// The bytes of a table with these rows.
    pub(crate) fn table(&self, rows: &Vectors) -> Result<Vec<u8>> {
        ensure!(rows.len() == self.tokens.len(), "{} rows for {} tokens", rows.len(), self.tokens.len());
        let tokens = self.tokens.iter().zip(rows.iter());
        let tokens: Vec<NewToken<'_>> = tokens
            .map(|(Token { text, continues, .. }, row)| NewToken { text, continues: *continues, row })
            .collect();
        Ok(Table::encode(rows.width().try_into()?, RowFormat::EightBits, &tokens)?)
    }

    /// What the teacher is given for a text.
    pub(crate) fn ids(&self, tokens: &[TokenId]) -> Vec<i64> {
        let id =
            |token: &TokenId| self.tokens.get(usize::from(token.0)).map_or(self.unknown, |token| token.id);
        [self.start].into_iter().chain(tokens.iter().map(id)).chain([self.end]).collect()
    }

    /// What the teacher is given for each token by itself.
    pub(crate) fn each_alone(&self) -> Vec<Vec<i64>> {
        self.tokens.iter().map(|token| vec![self.start, token.id, self.end]).collect()
    }
}

/// A table over bytes that stay until the program ends, as those of the table that ships do.
pub(crate) fn parsed(bytes: Vec<u8>) -> Result<Table<'static>> {
    Ok(Table::parse(bytes.leak())?)
}

fn of_json(file: &Path) -> Result<BTreeMap<i64, String>> {
    let text = fs::read(file).with_context(|| file.display().to_string())?;
    let tokenizer: Value = serde_json::from_slice(&text).with_context(|| file.display().to_string())?;
    let vocabulary = tokenizer.pointer("/model/vocab").and_then(Value::as_object);
    let vocabulary = vocabulary.with_context(|| format!("{} has no vocabulary", file.display()))?;
    Ok(vocabulary.iter().filter_map(|(token, id)| Some((id.as_i64()?, token.clone()))).collect())
}
