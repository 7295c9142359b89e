//! Models as ONNX files, run by ONNX Runtime: a custom folder, or a model that `fastembed` names. Neither a model nor
//! the library is downloaded unless [`pull`] is called.

mod library;
mod models;
mod pull;

use std::fmt;
use std::path::Path;

use fastembed::{
    InitOptionsUserDefined, OutputKey, Pooling, QuantizationMode, TextEmbedding, TokenizerFiles,
    UserDefinedEmbeddingModel,
};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use toolcrib_io::files::read_bounded;

use super::{ContentHash, EmbedError, Embedder, MAX_DIMENSION};
use models::TOKENIZER_FILES;

pub use library::load_library;
pub use models::NamedModel;
pub use pull::{DEFAULT_ENDPOINT, PullProgress, STALL_TIMEOUT, pull};

/// The most bytes of a model file: 1 GiB, twice the size of the largest sentence model.
pub const MAX_MODEL_BYTES: u64 = 1 << 30;

/// The most bytes of each tokenizer file.
pub const MAX_TOKENIZER_BYTES: u64 = 64 << 20;

/// The default model: sentences in fifty languages.
pub const DEFAULT_MODEL: &str = "paraphrase-multilingual-MiniLM-L12-v2";

/// The most tokens of one text.
const MAX_TOKENS: usize = 256;

/// An embedder whose model runs in ONNX Runtime.
pub struct FastEmbedder {
    id: String,
    dimension: usize,
    // Locked, since `embed` takes the model mutably although it changes nothing.
    model: Mutex<TextEmbedding>,
}

/// The files of a model, and the interpretation of its output.
struct ModelFiles {
    /// The name of the model in errors.
    name: String,
    onnx: Vec<u8>,
    /// The additional files of the model, by name.
    more: Vec<(String, Vec<u8>)>,
    tokenizer: [Vec<u8>; TOKENIZER_FILES.len()],
    pooling: Pooling,
    quantization: QuantizationMode,
    output: Option<OutputKey>,
}

impl FastEmbedder {
    /// Opens a folder with `model.onnx`, `tokenizer.json`, `config.json`, `special_tokens_map.json` and
    /// `tokenizer_config.json`, as sentence transformers are exported. The vectors of the tokens are averaged. The
    /// library is also searched for in `libraries`; see [`load_library`].
    pub fn open(folder: impl AsRef<Path>, libraries: Option<&Path>) -> Result<Self, EmbedError> {
        let folder = folder.as_ref();
        let read = |file: &str, max| {
            let read = read_bounded(folder.join(file), max);
            read.map_err(|error| wrong(&folder.display().to_string(), error.to_string()))
        };
        let [tokenizer, config, special, settings] =
            TOKENIZER_FILES.map(|file| read(file, MAX_TOKENIZER_BYTES));
        Self::from_files(
            ModelFiles {
                name: folder.display().to_string(),
                onnx: read("model.onnx", MAX_MODEL_BYTES)?,
                more: Vec::new(),
                tokenizer: [tokenizer?, config?, special?, settings?],
                pooling: Pooling::Mean,
                quantization: QuantizationMode::None,
                output: None,
            },
            libraries,
        )
    }

    /// Opens a model that [`pull`] has downloaded into the folder of all models.
    pub fn open_named(name: &str, models: &Path, libraries: Option<&Path>) -> Result<Self, EmbedError> {
        let model = NamedModel::find(name)?;
        let list = model.list(models)?;
        let folder = model.folder(models);
        let read = |file: &str, max| {
            let again = format!("`toolcrib models pull {}` fetches it again", model.name());
            let bytes = read_bounded(folder.join(file), max)
                .map_err(|error| wrong(model.repository(), format!("{error}; {again}")))?;
            let is_whole = list.files.get(file).is_some_and(|entry| entry.sha256 == hex(&bytes));
            if is_whole {
                Ok(bytes)
            } else {
                Err(wrong(model.repository(), format!("{file} is incomplete; {again}")))
            }
        };
        let more = model
            .0
            .additional_files
            .iter()
            .map(|file| Ok((models::last(file).to_owned(), read(file, MAX_MODEL_BYTES)?)));
        let more = more.collect::<Result<_, EmbedError>>()?;
        let [tokenizer, config, special, settings] =
            TOKENIZER_FILES.map(|file| read(file, MAX_TOKENIZER_BYTES));
        Self::from_files(
            ModelFiles {
                name: model.repository().to_owned(),
                onnx: read(&model.0.model_file, MAX_MODEL_BYTES)?,
                more,
                tokenizer: [tokenizer?, config?, special?, settings?],
                pooling: model.pooling(),
                quantization: model.quantization(),
                output: model.0.output_key.clone(),
            },
            libraries,
        )
    }

    fn from_files(files: ModelFiles, libraries: Option<&Path>) -> Result<Self, EmbedError> {
        load_library(libraries)?;
        let wrong = |message: String| wrong(&files.name, message);
        let id = format!("onnx:{:?}", ContentHash::of("", &[files.fingerprint()]));
        let [tokenizer_file, config_file, special_tokens_map_file, tokenizer_config_file] = files.tokenizer;
        let tokenizer =
            TokenizerFiles { tokenizer_file, config_file, special_tokens_map_file, tokenizer_config_file };
        let mut model = UserDefinedEmbeddingModel::new(files.onnx, tokenizer)
            .with_pooling(files.pooling)
            .with_quantization(files.quantization);
        model.output_key = files.output;
        for (name, bytes) in files.more {
            model = model.with_external_initializer(name, bytes);
        }
        let options = InitOptionsUserDefined::new().with_max_length(MAX_TOKENS);
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

impl ModelFiles {
    /// Returns the digest of everything that determines the vectors.
    fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for file in
            std::iter::once(&self.onnx).chain(self.more.iter().map(|(_, bytes)| bytes)).chain(&self.tokenizer)
        {
            hash.update(file.len().to_le_bytes());
            hash.update(file);
        }
        format!("{:x} {:?} {MAX_TOKENS}", hash.finalize(), self.pooling)
    }
}

fn wrong(model: &str, message: String) -> EmbedError {
    EmbedError::Model { model: model.to_owned(), message }
}

fn hex(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

impl Embedder for FastEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut model = self.model.lock();
        // One by one: a quantized model scales its numbers to the texts of a batch, so the vector of a text would
        // depend on the other texts.
        let mut embed = |text: &&str| {
            let vectors = model.embed([*text], None);
            let vectors = vectors
                .map_err(|error| EmbedError::Failed { model: self.id.clone(), message: error.to_string() })?;
            let count = vectors.len();
            vectors.into_iter().next().ok_or_else(|| EmbedError::Count {
                model: self.id.clone(),
                texts: 1,
                found: count,
            })
        };
        texts.iter().map(&mut embed).collect()
    }
}

impl fmt::Debug for FastEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("FastEmbedder");
        f.field("id", &self.id).field("dimension", &self.dimension).finish_non_exhaustive()
    }
}
