//! Models as ONNX files, run by ONNX Runtime. Nothing is downloaded: neither the model nor the library.

use std::fmt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use fastembed::{InitOptionsUserDefined, Pooling, TextEmbedding, TokenizerFiles, UserDefinedEmbeddingModel};
use toolcrib_io::files::read_bounded;

use super::{EmbedError, Embedder, MAX_DIMENSION};

/// The most bytes of a model: 1 GiB, which is twice the largest that is meant for sentences.
pub const MAX_MODEL_BYTES: u64 = 1 << 30;

/// The most bytes of each file of its tokenizer.
pub const MAX_TOKENIZER_BYTES: u64 = 64 << 20;

/// The environment variable that says where the library is.
const LIBRARY: &str = "ORT_DYLIB_PATH";

/// The most tokens of one text.
const MAX_TOKENS: usize = 256;

/// A folder with `model.onnx`, `tokenizer.json`, `config.json`, `special_tokens_map.json` and `tokenizer_config.json`, as
/// sentence transformers are exported; the vectors of the tokens are averaged.
pub struct FastEmbedder {
    id: String,
    dimension: usize,
    // It takes the model mutably, although it changes nothing.
    model: Mutex<TextEmbedding>,
}

impl FastEmbedder {
    /// Opens a model. The library is the one that `ORT_DYLIB_PATH` names, else one that the system finds by its usual
    /// name; the first that a process has loaded stays.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, EmbedError> {
        let folder = folder.as_ref();
        load_library()?;
        let wrong = |message: String| EmbedError::Model { model: folder.display().to_string(), message };
        let read =
            |name: &str, max| read_bounded(&folder.join(name), max).map_err(|error| wrong(error.to_string()));
        let tokenizer = TokenizerFiles {
            tokenizer_file: read("tokenizer.json", MAX_TOKENIZER_BYTES)?,
            config_file: read("config.json", MAX_TOKENIZER_BYTES)?,
            special_tokens_map_file: read("special_tokens_map.json", MAX_TOKENIZER_BYTES)?,
            tokenizer_config_file: read("tokenizer_config.json", MAX_TOKENIZER_BYTES)?,
        };
        let model = read("model.onnx", MAX_MODEL_BYTES)?;
        let id = format!("onnx:{:?}", super::ContentHash::of("", &fingerprint(&model, &tokenizer)));
        let model = UserDefinedEmbeddingModel::new(model, tokenizer).with_pooling(Pooling::Mean);
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

/// What the vectors depend on.
fn fingerprint(model: &[u8], tokenizer: &TokenizerFiles) -> String {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    for file in [
        model,
        &tokenizer.tokenizer_file,
        &tokenizer.config_file,
        &tokenizer.special_tokens_map_file,
        &tokenizer.tokenizer_config_file,
    ] {
        hash.update(file.len().to_le_bytes());
        hash.update(file);
    }
    format!("{:x} {MAX_TOKENS}", hash.finalize())
}

/// Loads the library, or says what is wrong with it; the crate itself panics then.
fn load_library() -> Result<(), EmbedError> {
    let usual = format!("{}onnxruntime{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let path = std::env::var_os(LIBRARY).filter(|path| !path.is_empty()).unwrap_or_else(|| usual.into());
    // What it gives is an environment with settings of one's own; fastembed makes one without.
    let loaded = ort::init_from(Path::new(&path)).map(drop);
    loaded.map_err(|error| EmbedError::Library { message: error.to_string() })
}

impl Embedder for FastEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        // One by one: a quantised model fits its numbers to the texts that it is given together, and the vector of a
        // text would depend on its neighbours.
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
