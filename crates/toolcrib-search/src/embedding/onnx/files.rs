//! The files of a model, read within bounds.

use std::path::Path;

use fastembed::{OutputKey, Pooling, QuantizationMode};
use sha2::{Digest, Sha256};
use toolcrib_io::files::read_bounded;

use super::catalogue::{NamedModel, SETTINGS_FILES, TOKENIZER_FILE, last};
use super::limits::{MAX_MODEL_BYTES, MAX_TOKENIZER_BYTES, MAX_TOKENS};
use crate::embedding::{ContentHash, EmbedError};

/// The model file of a custom folder.
pub(super) const MODEL_FILE: &str = "model.onnx";

/// The files of a model, and the interpretation of its output.
pub(super) struct ModelFiles {
    /// The name of the model in errors: its folder or its repository.
    pub(super) name: String,
    pub(super) onnx: Vec<u8>,
    /// The additional files of the model, by name.
    pub(super) more: Vec<(String, Vec<u8>)>,
    pub(super) tokenizer: Vec<u8>,
    /// The [`SETTINGS_FILES`] that exist.
    pub(super) settings: [Option<Vec<u8>>; SETTINGS_FILES.len()],
    pub(super) pooling: Pooling,
    pub(super) quantization: QuantizationMode,
    pub(super) output: Option<OutputKey>,
}

impl ModelFiles {
    /// Reads a folder with `model.onnx` and `tokenizer.json`, as sentence transformers are exported. The vectors of the
    /// tokens are averaged.
    pub(super) fn in_folder(folder: &Path) -> Result<Self, EmbedError> {
        let name = folder.display().to_string();
        let read = |file: &str, max| {
            read_bounded(folder.join(file), max).map_err(|error| wrong(&name, error.to_string()))
        };
        let [config, special, tokenizer_config] = SETTINGS_FILES
            .map(|file| folder.join(file).is_file().then(|| read(file, MAX_TOKENIZER_BYTES)).transpose());
        Ok(Self {
            onnx: read(MODEL_FILE, MAX_MODEL_BYTES)?,
            more: Vec::new(),
            tokenizer: read(TOKENIZER_FILE, MAX_TOKENIZER_BYTES)?,
            settings: [config?, special?, tokenizer_config?],
            pooling: Pooling::Mean,
            quantization: QuantizationMode::None,
            output: None,
            name,
        })
    }

    /// Reads a model that was downloaded into the folder of all models, and checks its digests.
    pub(super) fn of_named(name: &str, models: &Path) -> Result<Self, EmbedError> {
        let model = NamedModel::find(name)?;
        let list = model.list(models)?;
        let folder = model.folder(models);
        let read = |file: &str, max| {
            let again = format!("`toolcrib models pull {}` fetches it again", model.name());
            let bytes = read_bounded(folder.join(file), max)
                .map_err(|error| wrong(model.repository(), format!("{error}; {again}")))?;
            let digest = format!("{:x}", Sha256::digest(&bytes));
            if list.files.get(file).is_some_and(|entry| entry.sha256 == digest) {
                Ok(bytes)
            } else {
                Err(wrong(model.repository(), format!("{file} is incomplete; {again}")))
            }
        };
        let more = model.0.additional_files.iter();
        let more = more.map(|file| Ok((last(file).to_owned(), read(file, MAX_MODEL_BYTES)?)));
        let more = more.collect::<Result<_, EmbedError>>()?;
        let [config, special, tokenizer_config] =
            SETTINGS_FILES.map(|file| read(file, MAX_TOKENIZER_BYTES).map(Some));
        Ok(Self {
            name: model.repository().to_owned(),
            onnx: read(&model.0.model_file, MAX_MODEL_BYTES)?,
            more,
            tokenizer: read(TOKENIZER_FILE, MAX_TOKENIZER_BYTES)?,
            settings: [config?, special?, tokenizer_config?],
            pooling: model.pooling(),
            quantization: model.quantization(),
            output: model.0.output_key.clone(),
        })
    }

    /// Returns the id of an embedder: its engine, and the digest of everything that determines the vectors.
    pub(super) fn id(&self, engine: &str) -> String {
        let mut hash = Sha256::new();
        let more = self.more.iter().map(|(_, bytes)| bytes);
        let settings = self.settings.iter().flatten();
        for file in [&self.onnx].into_iter().chain(more).chain([&self.tokenizer]).chain(settings) {
            hash.update(file.len().to_le_bytes());
            hash.update(file);
        }
        let content = format!("{:x} {:?} {MAX_TOKENS}", hash.finalize(), self.pooling);
        format!("{engine}:{:?}", ContentHash::of("", &[content]))
    }
}

/// Returns the error of a model that cannot be used.
pub(super) fn wrong(model: &str, message: String) -> EmbedError {
    EmbedError::Model { model: model.to_owned(), message }
}
