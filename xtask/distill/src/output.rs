//! The table and the record of how it was made.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use toolcrib_search::embedding::BuiltinEmbedder;

use crate::corpus::Corpus;
use crate::teacher::{Teacher, Vocabulary};
use crate::training::{Lesson, Loss, Settings};
use crate::vectors::dot;

/// The most texts of which all pairs are compared in the end.
const MAX_COMPARED: usize = 2_000;

/// The most bytes of the table.
const MAX_TABLE_BYTES: usize = 8_000_000;

/// What came out.
pub(crate) struct Made {
    pub(crate) table: Vec<u8>,
    pub(crate) vectors_digest: String,
    pub(crate) losses: Vec<Loss>,
    pub(crate) kept: f64,
    pub(crate) settings: Settings,
}

/// Writes `builtin.bin` and `builtin.json`.
pub(crate) fn write(
    made: &Made,
    corpus: &Corpus,
    vocabulary: &Vocabulary,
    teacher: &Teacher,
    lessons: &[Lesson],
    folder: &Path,
) -> Result<()> {
    let bytes = made.table.len();
    anyhow::ensure!(bytes <= MAX_TABLE_BYTES, "the table has {bytes} bytes, more than {MAX_TABLE_BYTES}");
    let table = crate::teacher::parsed(made.table.clone())?;
    let (tokens, dimension) = (table.len(), table.dimension());
    let agreement = agreement(&BuiltinEmbedder::over(table), corpus, lessons);
    println!("held out: {agreement}");
    let sources = corpus.counts().into_iter().map(|(source, count)| (source.to_owned(), Value::from(count)));
    let record = json!({
        "what": "the table of the built-in embedder; `cargo xtask distill` makes it",
        "table": {
            "sha256": format!("{:x}", Sha256::digest(&made.table)),
            "bytes": bytes,
            "tokens": tokens,
            "dimension": dimension,
        },
        "teacher": {
            "name": teacher.name,
            "model_sha256": teacher.digest,
            "vocabulary": vocabulary.size,
            "vocabulary_sha256": vocabulary.digest,
            "vectors_sha256": made.vectors_digest,
        },
        "corpus": {
            "texts": corpus.texts.len(),
            "held_out": corpus.held_out().count(),
            "sha256": corpus.digest(),
            "texts_by_source": sources.collect::<serde_json::Map<_, _>>(),
            "from": corpus.origins,
            "left_out": corpus.left_out,
        },
        "settings": made.settings,
        "projection_keeps": made.kept,
        "losses": made.losses,
        "agreement_on_held_out_texts": agreement,
    });
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    fs::write(folder.join("builtin.bin"), &made.table)?;
    fs::write(folder.join("builtin.json"), format!("{record:#}\n"))?;
    println!("wrote {bytes} bytes to {}", folder.join("builtin.bin").display());
    Ok(())
}

/// Compares the vectors of the finished table with those of the teacher, on texts that it was not trained with.
fn agreement(embedder: &BuiltinEmbedder, corpus: &Corpus, lessons: &[Lesson]) -> Value {
    let held_out = corpus.texts.iter().zip(lessons).filter(|(text, _)| text.held_out).take(MAX_COMPARED);
    let pairs: Vec<(Vec<f32>, &Lesson)> =
        held_out.map(|(text, lesson)| (embedder.embed_one(&text.content), lesson)).collect();
    let cosines = pairs.iter().map(|(vector, lesson)| f64::from(dot(vector, &lesson.target)));
    let mut likeness = Correlation::default();
    for (place, (one, lesson)) in pairs.iter().enumerate() {
        for (other, other_lesson) in pairs.iter().skip(place + 1) {
            likeness.add(dot(one, other).into(), dot(&lesson.whole, &other_lesson.whole).into());
        }
    }
    json!({
        "mean_cosine": cosines.sum::<f64>() / count(pairs.len()),
        "likeness_correlation": likeness.value(),
        "likeness_squared_error": likeness.squared_error(),
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts of texts are small")]
fn count(number: usize) -> f64 {
    number.max(1) as f64
}

/// Pearson's correlation of two figures.
#[derive(Default)]
struct Correlation {
    number: usize,
    ones: f64,
    others: f64,
    squares: [f64; 2],
    products: f64,
    errors: f64,
}

impl Correlation {
    fn add(&mut self, one: f64, other: f64) {
        self.number += 1;
        self.ones += one;
        self.others += other;
        self.squares = [self.squares[0] + one * one, self.squares[1] + other * other];
        self.products += one * other;
        self.errors += (one - other).powi(2);
    }

    fn value(&self) -> f64 {
        let number = count(self.number);
        let spread = |sum: f64, squares: f64| (squares / number - (sum / number).powi(2)).max(0.0).sqrt();
        let spreads = spread(self.ones, self.squares[0]) * spread(self.others, self.squares[1]);
        (self.products / number - self.ones / number * self.others / number) / spreads.max(f64::MIN_POSITIVE)
    }

    fn squared_error(&self) -> f64 {
        self.errors / count(self.number)
    }
}
