//! What the command line asks for.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use crate::multilingual::Recipe;

/// The places that are read and written, seen from the root of the repository.
const TEACHER: &str = "../shared/models/all-MiniLM-L6-v2-onnx-int8";
const CORPUS: &str = "../shared/data";
const OUT: &str = "crates/toolcrib-search/assets";
const CACHE: &str = "target/distill";
const ENGLISH: &str = "crates/toolcrib-search/assets/builtin.bin";

/// How often the corpus is gone through.
const EPOCHS: u16 = 8;

/// The table that is to be made.
#[derive(Debug, PartialEq)]
pub(crate) enum Task {
    English(Arguments),
    Multilingual(Recipe),
}

impl Task {
    /// Reads the command line; `multilingual FOLDER` begins that of the other languages.
    pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Self> {
        let mut words = words.peekable();
        match words.next_if(|word| word == "multilingual") {
            Some(_) => read_recipe(words).map(Self::Multilingual),
            None => Arguments::read(words).map(Self::English),
        }
    }
}

/// The command line of the English table.
#[derive(Debug, PartialEq)]
pub(crate) struct Arguments {
    /// The folder of the teacher: `model.onnx` and `tokenizer.json` or `vocab.txt`.
    pub(crate) teacher: PathBuf,
    /// The folder with `retrieval` and `openapi`.
    pub(crate) corpus: PathBuf,
    /// Where `builtin.bin` and `builtin.json` are written.
    pub(crate) out: PathBuf,
    /// Where the teacher's vectors are kept.
    pub(crate) cache: PathBuf,
    /// How often the corpus is gone through.
    pub(crate) epochs: u16,
    /// Of how many texts one is taken, for a trial.
    pub(crate) every: usize,
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut arguments = Self {
            teacher: TEACHER.into(),
            corpus: CORPUS.into(),
            out: OUT.into(),
            cache: CACHE.into(),
            epochs: EPOCHS,
            every: 1,
        };
        while let Some(word) = words.next() {
            let value = words.next().with_context(|| format!("{word} needs a value"))?;
            let number = || value.parse().with_context(|| format!("{word}: {value:?} is no number"));
            match word.as_str() {
                "--teacher" => arguments.teacher = value.into(),
                "--corpus" => arguments.corpus = value.into(),
                "--out" => arguments.out = value.into(),
                "--cache" => arguments.cache = value.into(),
                "--epochs" => arguments.epochs = number()?,
                "--every" => arguments.every = usize::from(number()?),
                _ => bail!(
                    "there is no {word}; there is --teacher, --corpus, --out, --cache, --epochs, --every"
                ),
            }
        }
        ensure!(arguments.every > 0, "--every takes a number from 1 on");
        Ok(arguments)
    }
}

fn read_recipe(mut words: impl Iterator<Item = String>) -> Result<Recipe> {
    let downloads = words.next().context("multilingual needs the folder of the packages")?.into();
    let mut recipe = Recipe { downloads, english: ENGLISH.into(), out: OUT.into(), epochs: None };
    while let Some(word) = words.next() {
        let value = words.next().with_context(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--english" => recipe.english = value.into(),
            "--out" => recipe.out = value.into(),
            "--epochs" => {
                let epochs = value.parse().with_context(|| format!("{word}: {value:?} is no number"))?;
                recipe.epochs = Some(epochs);
            }
            _ => bail!("there is no {word}; there is --english, --out, --epochs"),
        }
    }
    Ok(recipe)
}
