//! The words of tool requests in all languages, as translations.

use anyhow::{Context, Result, ensure};

use super::language::{ENGLISH, language};
use super::text::Translation;

/// The words. A line `= de` begins a language, and each line below it has as many columns as that of the English words.
const LEXICON: &str = include_str!("../../lexicon.txt");

/// The source of these translations in the record.
pub(crate) const SOURCE: &str = "lexicon";

/// Returns each word of each language with the English one.
pub(crate) fn translations() -> Result<Vec<(&'static str, Translation)>> {
    let mut english: Vec<&str> = Vec::new();
    let (mut code, mut row) = (ENGLISH, 0);
    let mut found = Vec::new();
    for line in LEXICON.lines().filter(|line| !line.starts_with('#')) {
        if let Some(next) = line.strip_prefix("= ") {
            code = language(next).with_context(|| format!("the lexicon has an unknown language {next}"))?;
            row = 0;
        } else if code == ENGLISH {
            english.push(line);
        } else {
            let words =
                english.get(row).with_context(|| format!("the lexicon of {code} has too many rows"))?;
            let (words, others): (Vec<_>, Vec<_>) = (words.split('|').collect(), line.split('|').collect());
            ensure!(
                words.len() == others.len(),
                "row {row} of the lexicon of {code} has {} columns",
                others.len()
            );
            for (word, others) in words.into_iter().zip(others) {
                for other in others.split('/') {
                    let (english, text) = (word.to_owned(), other.trim().to_owned());
                    found.push((code, Translation { english, text, source: SOURCE }));
                }
            }
            row += 1;
        }
    }
    Ok(found)
}
