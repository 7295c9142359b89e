//! The teacher: a sentence transformer in a folder, as `model.onnx` with the vocabulary of its `WordPiece` tokenizer.

mod cache;
mod model;
mod vocabulary;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use crate::vectors::Vectors;
pub(crate) use cache::Cache;
use model::Model;
use ort::environment::Environment;
pub(crate) use vocabulary::{Vocabulary, parsed};

/// After how many texts the progress is told.
const TOLD_EVERY: usize = 2_000;

/// A teacher and what it has said so far.
pub(crate) struct Teacher {
    model: PathBuf,
    /// The digest of the model.
    pub(crate) digest: String,
    /// The name of its folder.
    pub(crate) name: String,
    cache: Cache,
    /// ONNX Runtime, of which a process has one.
    runtime: Option<Environment>,
}

impl Teacher {
    /// Looks at the folder. The model is opened when there is something new to ask it.
    pub(crate) fn new(folder: &Path, cache: &Path) -> Result<Self> {
        let model = folder.join("model.onnx");
        let bytes = fs::read(&model).with_context(|| model.display().to_string())?;
        let digest = format!("{:x}", Sha256::digest(&bytes));
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let cache = Cache::open(&cache.join(format!("{}.vectors", digest.get(..16).unwrap_or_default())))?;
        Ok(Self { model, digest, name, cache, runtime: None })
    }

    /// The vector of each text, of length one. A text is given by the numbers of its tokens, and asked by itself: the
    /// numbers of a quantised model depend on the texts that it is given together.
    pub(crate) fn vectors(&mut self, texts: &[Vec<i64>]) -> Result<Vectors> {
        let missing: Vec<&Vec<i64>> = texts.iter().filter(|ids| !self.cache.holds(ids)).collect();
        if !missing.is_empty() {
            println!("teacher: {} of {} texts are new", missing.len(), texts.len());
            let runtime = match self.runtime.take() {
                Some(runtime) => runtime,
                None => model::load_library()?,
            };
            ask(self.runtime.insert(runtime), &self.model, &missing, &mut self.cache)?;
        }
        let width = self.cache.width();
        let mut vectors = Vectors::zeros(texts.len(), width);
        for (place, ids) in texts.iter().enumerate() {
            let vector = self.cache.get(ids)?;
            ensure!(vector.len() == width, "the cache holds vectors of several widths");
            vectors.get_mut(place).copy_from_slice(&vector);
        }
        Ok(vectors)
    }
}

/// Asks the model on all processors, each with a session of its own, and keeps the answers as they come.
fn ask(environment: &Environment, path: &Path, texts: &[&Vec<i64>], cache: &mut Cache) -> Result<()> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let (answers, answered) = mpsc::sync_channel(1024);
        for worker in 0..workers {
            let answers = answers.clone();
            scope.spawn(move || {
                let work = || -> Result<()> {
                    let mut model = Model::open(environment, path)?;
                    for ids in texts.iter().skip(worker).step_by(workers) {
                        // Nobody listens any more once the other side has failed.
                        if answers.send(Ok((*ids, model.vector(ids)?))).is_err() {
                            break;
                        }
                    }
                    Ok(())
                };
                if let Err(error) = work() {
                    let _ = answers.send(Err(error));
                }
            });
        }
        drop(answers);
        for (number, answer) in answered.into_iter().enumerate() {
            let (ids, vector) = answer?;
            cache.add(ids, &vector)?;
            if number % TOLD_EVERY == 0 {
                println!("teacher: {number} of {}", texts.len());
            }
        }
        cache.flush()
    })
}

/// The digest of vectors, bit for bit.
pub(crate) fn digest_of(all: &[&Vectors]) -> String {
    let mut digest = Sha256::new();
    for vector in all.iter().flat_map(|vectors| vectors.iter()) {
        for number in vector {
            digest.update(number.to_le_bytes());
        }
    }
    format!("{:x}", digest.finalize())
}
