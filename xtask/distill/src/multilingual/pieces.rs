//! The pieces of the table: those of XLM-R that the texts use most, and frequent words.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use icu_normalizer::ComposingNormalizerBorrowed;
use toolcrib_search::embedding::{MAX_TABLE_ROWS, NewToken, RowFormat, Table};

use super::pairs::Pairs;

/// The place of the tokenizer in the file of the model, and its numbers: of tokens, and of four special ones.
const TOKENIZER: usize = 44;
const SPECIAL_BYTES: usize = 16;

/// What marks a piece that begins a word.
const BEGIN: char = '▁';

/// The most bytes of a piece, and the bytes of a word that is a piece.
const MAX_PIECE_BYTES: usize = 60;
const WORD_BYTES: std::ops::RangeInclusive<usize> = 6..=40;

/// How often a word is in the texts, at least.
const MIN_USES: u32 = 12;

/// The most characters of a piece that is looked for.
const MAX_CHARACTERS: usize = 24;

/// A piece, and true if it continues a word.
pub(crate) type Piece = (String, bool);

/// Returns the pieces of the table, those that begin words first.
pub(crate) fn choose(model: &Path, pairs: &Pairs) -> Result<Vec<Piece>> {
    let mut known: HashSet<Piece> = of_model(model)?.into_iter().collect();
    let normalizer = ComposingNormalizerBorrowed::new_nfkc();
    let mut words: HashMap<String, u32> = HashMap::new();
    for pair in &pairs.all {
        for word in
            pair.text.split(|c: char| !c.is_alphabetic()).filter(|word| WORD_BYTES.contains(&word.len()))
        {
            *words.entry(normalizer.normalize(&word.to_lowercase()).into_owned()).or_default() += 1;
        }
    }
    known.extend(words.into_iter().filter(|(_, uses)| *uses >= MIN_USES).map(|(word, _)| (word, false)));

    let mut weights: HashMap<Piece, f64> = HashMap::new();
    let mut cuts: HashMap<String, Vec<Piece>> = HashMap::new();
    for pair in &pairs.all {
        for (word, is_unspaced) in Table::words(&pair.text) {
            let pieces = cuts.entry(word).or_insert_with_key(|word| cut(word, is_unspaced, &known));
            for piece in pieces {
                if let Some(weight) = weights.get_mut(piece) {
                    *weight += f64::from(pair.weight);
                } else {
                    weights.insert(piece.clone(), f64::from(pair.weight));
                }
            }
        }
    }
    let mut chosen: Vec<(Piece, f64)> = weights.into_iter().collect();
    // Single letters are kept, so that every word has pieces.
    let key = |((text, _), weight): &(Piece, f64)| (text.chars().nth(1).is_none(), *weight);
    chosen.sort_by(|one, other| {
        let ((is_letter, weight), (is_other_letter, other_weight)) = (key(one), key(other));
        is_other_letter
            .cmp(&is_letter)
            .then(other_weight.total_cmp(&weight))
            .then_with(|| one.0.cmp(&other.0))
    });
    chosen.truncate(MAX_TABLE_ROWS);
    let mut pieces: Vec<Piece> = chosen.into_iter().map(|(piece, _)| piece).collect();
    pieces.sort_by(|one, other| (one.1, &one.0).cmp(&(other.1, &other.0)));
    Ok(pieces)
}

/// Encodes a table of these pieces.
pub(crate) fn encode<'a>(
    dimension: usize,
    pieces: &'a [Piece],
    rows: impl Iterator<Item = &'a [f32]>,
) -> Result<Vec<u8>> {
    let tokens = pieces.iter().zip(rows);
    let tokens: Vec<NewToken<'_>> =
        tokens.map(|((text, continues), row)| NewToken { text, continues: *continues, row }).collect();
    Ok(Table::encode(u16::try_from(dimension)?, RowFormat::FourBits, &tokens)?)
}

/// Cuts a word into the longest of the known pieces.
fn cut(word: &str, is_unspaced: bool, known: &HashSet<Piece>) -> Vec<Piece> {
    let (mut pieces, mut rest) = (Vec::new(), word);
    while !rest.is_empty() {
        let continues = rest.len() < word.len() && !is_unspaced;
        let ends: Vec<usize> =
            rest.char_indices().map(|(start, c)| start + c.len_utf8()).take(MAX_CHARACTERS).collect();
        let found = ends.iter().rev().find_map(|end| {
            let (piece, left) = rest.split_at_checked(*end)?;
            let piece = (piece.to_owned(), continues);
            known.contains(&piece).then_some((piece, left))
        });
        rest = match found {
            Some((piece, left)) => {
                pieces.push(piece);
                left
            }
            None => ends.first().and_then(|end| rest.get(*end..)).unwrap_or_default(),
        };
    }
    pieces
}

/// Reads the pieces of a multilingual model (`e5-small-q4.bin`), in the form that the table has for them.
fn of_model(path: &Path) -> Result<Vec<Piece>> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    let number = |place: usize| {
        let bytes = bytes.get(place..place + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u32::from_le_bytes).and_then(|number| usize::try_from(number).ok())
    };
    let read = || {
        let count = number(TOKENIZER)?;
        let offsets = TOKENIZER + 4 + SPECIAL_BYTES + 8;
        let texts = offsets + 4 * (count + 1) + 4 * count;
        let mut pieces = Vec::new();
        for piece in 0..count {
            let (start, end) = (number(offsets + 4 * piece)?, number(offsets + 4 * piece + 4)?);
            let text = String::from_utf8_lossy(bytes.get(texts + start..texts + end)?).into_owned();
            let bare = text.trim_start_matches(BEGIN);
            let words = Table::words(bare);
            // A piece of the model may be none of the table: punctuation, or several words.
            if let [(word, is_unspaced)] = words.as_slice()
                && word.len() <= MAX_PIECE_BYTES
                && word.chars().all(|c| !c.is_numeric())
            {
                pieces.push((word.clone(), !is_unspaced && bare.len() == text.len()));
            }
        }
        Some(pieces)
    };
    read().with_context(|| format!("{} is no model in the expected format", path.display()))
}
