//! ONNX models that ONNX Runtime runs.

use std::fmt;
use std::path::Path;

use fastembed::{InitOptionsUserDefined, TextEmbedding, TokenizerFiles, UserDefinedEmbeddingModel};
use parking_lot::Mutex;

use super::catalogue::SETTINGS_FILES;
use super::files::{ModelFiles, wrong};
use super::library::load_library;
use super::limits::{MAX_TOKENS, threads};
use crate::embedding::{EmbedError, Embedder, MAX_DIMENSION};

/// An embedder whose model runs in ONNX Runtime.
pub struct FastEmbedder {
    id: String,
    dimension: usize,
    // Locked, since `embed` takes the model mutably although it changes nothing.
    model: Mutex<TextEmbedding>,
}

impl FastEmbedder {
    /// Opens a folder with `model.onnx`, `tokenizer.json`, `config.json`, `special_tokens_map.json` and
    /// `tokenizer_config.json`, as sentence transformers are exported. The vectors of the tokens are averaged. The
    /// library is also searched for in `libraries`; see [`load_library`].
    pub fn open(folder: impl AsRef<Path>, libraries: Option<&Path>) -> Result<Self, EmbedError> {
        Self::from_files(ModelFiles::in_folder(folder.as_ref())?, libraries)
    }

    /// Opens a model that [`pull`](super::pull()) has downloaded into the folder of all models.
    pub fn open_named(name: &str, models: &Path, libraries: Option<&Path>) -> Result<Self, EmbedError> {
        Self::from_files(ModelFiles::of_named(name, models)?, libraries)
    }

    fn from_files(files: ModelFiles, libraries: Option<&Path>) -> Result<Self, EmbedError> {
        load_library(libraries)?;
        let id = files.id("onnx");
        let wrong = |message: String| wrong(&files.name, message);
        let mut settings = SETTINGS_FILES.into_iter().zip(files.settings).map(|(file, bytes)| {
            bytes.ok_or_else(|| wrong(format!("{file} is missing; it belongs to the tokenizer of the model")))
        });
        let mut next = || settings.next().transpose().map(Option::unwrap_or_default);
        let tokenizer = TokenizerFiles {
            tokenizer_file: files.tokenizer,
            config_file: next()?,
            special_tokens_map_file: next()?,
            tokenizer_config_file: next()?,
        };
        let mut model = UserDefinedEmbeddingModel::new(files.onnx, tokenizer)
            .with_pooling(files.pooling)
            .with_quantization(files.quantization);
        model.output_key = files.output;
        for (name, bytes) in files.more {
            model = model.with_external_initializer(name, bytes);
        }
        let options = InitOptionsUserDefined::new().with_max_length(MAX_TOKENS).with_intra_threads(threads());
        let mut model = TextEmbedding::try_new_from_user_defined(model, options)
            .map_err(|error| wrong(error.to_string()))?;
        let probe = model.embed(["a"], None).map_err(|error| wrong(error.to_string()))?;
        let dimension = probe.first().map_or(0, Vec::len);
        if !(1..=MAX_DIMENSION).contains(&dimension) {
            return Err(wrong(format!(
                "its vectors have {dimension} numbers, more than {MAX_DIMENSION} or none"
            )));
        }
        Ok(Self { id, dimension, model: Mutex::new(model) })
    }
}

impl Embedder for FastEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        // One by one: a quantized model scales its numbers to the texts of a batch, so the vector of a text would
        // depend on the other texts. A query waits for one text of a tool at most.
        let embed = |text: &&str| {
            let vectors = self.model.lock().embed([*text], None);
            let vectors = vectors
                .map_err(|error| EmbedError::Failed { model: self.id.clone(), message: error.to_string() })?;
            let count = vectors.len();
            vectors.into_iter().next().ok_or_else(|| EmbedError::Count {
                model: self.id.clone(),
                texts: 1,
                found: count,
            })
        };
        texts.iter().map(embed).collect()
    }
}

impl fmt::Debug for FastEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("FastEmbedder");
        f.field("id", &self.id).field("dimension", &self.dimension).finish_non_exhaustive()
    }
}
