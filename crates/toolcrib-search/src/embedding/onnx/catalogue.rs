//! The named models and the places of their files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fastembed::{EmbeddingModel, ModelInfo, Pooling, QuantizationMode, TextEmbedding};
use serde::{Deserialize, Serialize};
use toolcrib_io::files::read_bounded;

use crate::embedding::EmbedError;

/// The most bytes of the list of a model's files.
const MAX_LIST_BYTES: u64 = 1 << 20;

/// The name of the list of a model's files.
pub(super) const LIST: &str = "files.json";

/// The file of the tokenizer.
pub(super) const TOKENIZER_FILE: &str = "tokenizer.json";

/// The files with settings of the model and of its tokenizer.
pub(super) const SETTINGS_FILES: [&str; 3] =
    ["config.json", "special_tokens_map.json", "tokenizer_config.json"];

/// A model that `fastembed` knows.
#[derive(Clone, Debug)]
pub struct NamedModel(pub(super) ModelInfo<EmbeddingModel>);

/// The files of a downloaded model, as they were at the time of the download.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileList {
    /// The source of the files.
    pub(super) source: String,
    /// The length and the SHA-256 of each file.
    pub(super) files: BTreeMap<String, FileEntry>,
}

/// The length and the digest of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileEntry {
    pub(super) bytes: u64,
    pub(super) sha256: String,
}

impl NamedModel {
    /// Returns the model with a name: that of its repository, with or without the owner, or the name that `fastembed`
    /// gives it.
    pub fn find(name: &str) -> Result<Self, EmbedError> {
        let same = |other: &str| other.eq_ignore_ascii_case(name.trim());
        let is_named = |model: &ModelInfo<EmbeddingModel>| {
            same(&model.model_code) || same(last(&model.model_code)) || same(&format!("{:?}", model.model))
        };
        // The list of `fastembed` has no order. In this one, a model is before its quantized form.
        Self::all().into_iter().find(|model| is_named(&model.0)).ok_or_else(|| EmbedError::Model {
            model: name.to_owned(),
            message: "there is no model of this name; `toolcrib models list` shows all models".into(),
        })
    }

    /// Returns all named models, ordered by repository and name.
    pub fn all() -> Vec<Self> {
        let mut models: Vec<_> = TextEmbedding::list_supported_models().into_iter().map(Self).collect();
        models.sort_by_cached_key(|model| (model.repository().to_ascii_lowercase(), model.own_name()));
        models
    }

    /// Returns its repository, `owner/name`.
    pub fn repository(&self) -> &str {
        &self.0.model_code
    }

    /// Returns the name that `fastembed` gives it, which is unique.
    pub fn own_name(&self) -> String {
        format!("{:?}", self.0.model)
    }

    /// Returns its name without the owner.
    pub fn name(&self) -> &str {
        last(&self.0.model_code)
    }

    /// Returns its description.
    pub fn description(&self) -> &str {
        &self.0.description
    }

    /// Returns the folder of its files, below the folder of all models.
    pub fn folder(&self, models: &Path) -> PathBuf {
        models.join(self.repository().replace('/', "--")).join(self.0.model_file.replace('/', "--"))
    }

    /// Returns its files, the model first.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        let own = std::iter::once(&self.0.model_file).chain(&self.0.additional_files).map(String::as_str);
        own.chain([TOKENIZER_FILE]).chain(SETTINGS_FILES)
    }

    pub(super) fn pooling(&self) -> Pooling {
        TextEmbedding::get_default_pooling_method(&self.0.model).unwrap_or(Pooling::Mean)
    }

    pub(super) fn quantization(&self) -> QuantizationMode {
        TextEmbedding::get_quantization_mode(&self.0.model)
    }

    /// Reads its list of files, which exists only if the download was completed.
    pub(super) fn list(&self, models: &Path) -> Result<FileList, EmbedError> {
        let wrong = |message: String| EmbedError::Model { model: self.repository().to_owned(), message };
        let pull = format!("`toolcrib models pull {}` fetches it", self.name());
        let path = self.folder(models).join(LIST);
        if !path.is_file() {
            return Err(wrong(format!("it was not fetched; {pull}")));
        }
        let bytes =
            read_bounded(&path, MAX_LIST_BYTES).map_err(|error| wrong(format!("{error}; {pull} again")))?;
        serde_json::from_slice(&bytes)
            .map_err(|error| wrong(format!("{}: {error}; {pull} again", path.display())))
    }
}

/// Returns the last component of a path.
pub(super) fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
