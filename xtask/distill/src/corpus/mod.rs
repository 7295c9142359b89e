//! The texts on which the table is to agree with the teacher.

mod openapi;
mod queries;
mod tools;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The most texts of a corpus, which bounds what is held of them in memory.
pub(crate) const MAX_TEXTS: usize = 200_000;

/// The labelled sets whose tools are read. Their queries are not, they are what the table is measured on.
const SETS: [&str; 4] = ["metatool", "seal_tools", "stabletoolbench", "bfcl"];

/// Of how many texts one is held out of the training, to see how the table does on texts that it does not know.
const HELD_OUT_EVERY: u8 = 32;

/// A text, and where it is from.
#[derive(Debug, PartialEq)]
pub(crate) struct Text {
    pub(crate) content: String,
    pub(crate) source: &'static str,
    /// Whether the table is not trained with it. Which ones are depends on their content alone.
    pub(crate) held_out: bool,
}

/// Whose a labelled set is, as its `meta.json` says, or a repository of OpenAPI documents.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Origin {
    source: String,
    commit: String,
    license: String,
}

/// All texts, each once, in the order in which they were read.
#[derive(Debug, Default)]
pub(crate) struct Corpus {
    pub(crate) texts: Vec<Text>,
    /// For the record: whose the texts are.
    pub(crate) origins: BTreeMap<String, Origin>,
    /// For the record: the files that may not be used, and why.
    pub(crate) left_out: BTreeMap<String, String>,
    seen: BTreeSet<[u8; 32]>,
}

impl Corpus {
    /// Reads the folder with `retrieval` and `openapi`.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let mut corpus = Self::default();
        for set in SETS {
            let folder = folder.join("retrieval").join(set);
            let file = folder.join("tools.json");
            tools::read(&file, &mut corpus).with_context(|| file.display().to_string())?;
            let file = folder.join("meta.json");
            let origin = || Ok::<_, anyhow::Error>(serde_json::from_slice(&fs::read(&file)?)?);
            corpus.origins.insert(set.to_owned(), origin().with_context(|| file.display().to_string())?);
        }
        openapi::read(&folder.join("openapi"), &mut corpus)?;
        queries::read(&folder.join("retrieval/metatool"), &mut corpus)?;
        ensure!(corpus.texts.len() <= MAX_TEXTS, "more than {MAX_TEXTS} texts");
        Ok(corpus)
    }

    /// Adds a text, unless it is blank or there already.
    pub(crate) fn push(&mut self, source: &'static str, text: &str) {
        let text = text.trim();
        let digest: [u8; 32] = Sha256::digest(text).into();
        if !text.is_empty() && self.seen.insert(digest) {
            let held_out = digest[0].is_multiple_of(HELD_OUT_EVERY);
            self.texts.push(Text { content: text.to_owned(), source, held_out });
        }
    }

    /// Keeps one of so many texts.
    pub(crate) fn thin_out(&mut self, every: usize) {
        let mut number = 0;
        self.texts.retain(|_| {
            number += 1;
            usize::is_multiple_of(number - 1, every)
        });
    }

    pub(crate) fn held_out(&self) -> impl Iterator<Item = &Text> {
        self.texts.iter().filter(|text| text.held_out)
    }

    /// How many texts each source has, in the order of the sources.
    pub(crate) fn counts(&self) -> Vec<(&'static str, usize)> {
        let mut counts: Vec<(&'static str, usize)> = Vec::new();
        for text in &self.texts {
            match counts.iter_mut().find(|(source, _)| *source == text.source) {
                Some((_, count)) => *count += 1,
                None => counts.push((text.source, 1)),
            }
        }
        counts
    }

    /// The digest of all texts in their order.
    pub(crate) fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for text in &self.texts {
            digest.update(text.content.len().to_le_bytes());
            digest.update(&text.content);
        }
        format!("{:x}", digest.finalize())
    }
}
