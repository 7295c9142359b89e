//! The search section of an app file: the embedder, and its replacement if it cannot be used.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_io::files::cache_folder;
use toolcrib_registry::Enrichment;
use toolcrib_search::embedding::{
    BuiltinEmbedder, EmbedError, Embedder, Embeddings, EmbeddingsEnrichment, OpenedEmbedder,
};
use toolcrib_search::{MAX_SYNONYM_GROUPS, MAX_SYNONYM_WORDS, Ranking, SearchSettings};
use toolcrib_tasks::store::{RecordKind, RecordTable};

use crate::findings::Findings;
use crate::{App, AppFile};

/// The model of the tiers `model` and `fastembed` unless another is named.
pub const DEFAULT_MODEL: &str = "paraphrase-multilingual-MiniLM-L12-v2";

/// `tools.search`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a mapping, with keys such as `tier` and `synonyms`")]
#[non_exhaustive]
pub struct SearchSection {
    /// The method of search by meaning. The default is `builtin`.
    pub tier: SearchTier,
    /// The model of the tiers `model` and `fastembed`, downloaded with `toolcrib models pull`. By default
    /// `paraphrase-multilingual-MiniLM-L12-v2`.
    pub model: Option<String>,
    /// A folder with a model for the tiers `model` and `fastembed`, relative to the app file, instead of a named one.
    pub model_dir: Option<String>,
    /// The combination of the rankings by words and by meaning. The default is `fused`.
    pub ranking: Ranking,
    /// Groups of synonyms, in addition to the built-in ones.
    pub synonyms: Vec<Vec<String>>,
}

/// The method of search by meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SearchTier {
    /// A table inside the program.
    #[default]
    Builtin,
    /// A model that the program runs itself.
    Model,
    /// A model that ONNX Runtime runs, a library that must be installed.
    Fastembed,
    /// No search by meaning: words only.
    Keyword,
}

impl SearchTier {
    /// Returns true if `model` and `model_dir` select the model of the tier.
    pub fn takes_model(self) -> bool {
        matches!(self, Self::Model | Self::Fastembed)
    }
}

impl SearchSection {
    /// Returns the settings of the index.
    pub fn settings(&self) -> SearchSettings {
        let mut settings = SearchSettings::default();
        (settings.ranking, settings.synonyms) = (self.ranking, self.synonyms.clone());
        settings
    }
}

/// Returns the folder of downloaded models: `toolcrib/models` in the user's cache folder; `None` if there is no such
/// folder.
pub fn models_folder() -> Option<PathBuf> {
    cache_folder("models")
}

/// Returns the private folder of ONNX Runtime: `toolcrib/onnxruntime` in the user's cache folder.
pub fn runtime_library_folder() -> Option<PathBuf> {
    cache_folder("onnxruntime")
}

/// The folder of cached vectors and words of tools.
const KEPT: &str = "embeddings";

/// Returns the folder for the words of tools: that of their vectors.
pub fn words_folder() -> Option<PathBuf> {
    cache_folder(KEPT)
}

/// Checks `tools.search` beyond its types, and warns of settings that have no effect.
pub(crate) fn check(search: &SearchSection, file: &AppFile, found: &mut Findings) {
    found.warnings.extend(warning(search, file));
    let errors = &mut found.errors;
    let mut wrong = |key: &str, message: &str| {
        errors.push(file.error_at(&format!("/tools/search/{key}"), message.to_owned()));
    };
    if !search.tier.takes_model() {
        for key in [("model", &search.model), ("model_dir", &search.model_dir)] {
            if key.1.is_some() {
                wrong(key.0, "only `tier: model` and `tier: fastembed` take a model");
            }
        }
    } else if search.model.is_some() && search.model_dir.is_some() {
        wrong("model_dir", "there is `model` too; leave one of them out");
    } else if let Some(Err(error)) = search.model.as_deref().map(check_name) {
        wrong("model", &error.to_string());
    }
    if search.synonyms.len() > MAX_SYNONYM_GROUPS {
        wrong("synonyms", &format!("there are more than {MAX_SYNONYM_GROUPS} groups; join or drop some"));
    }
    for (place, group) in search.synonyms.iter().take(MAX_SYNONYM_GROUPS).enumerate() {
        if !(2..=MAX_SYNONYM_WORDS).contains(&group.len()) {
            let message = format!("expected a group of 2 to {MAX_SYNONYM_WORDS} synonyms");
            wrong(&format!("synonyms/{place}"), &message);
        }
    }
}

/// Returns a warning about search settings that have no effect.
fn warning(search: &SearchSection, file: &AppFile) -> Option<String> {
    if !search.tier.takes_model() {
        return None;
    }
    if cfg!(not(feature = "onnx")) {
        let what =
            "`tools.search.tier` needs a model, which this build cannot run; `builtin` takes its place";
        return Some(what.into());
    }
    let folder = search.model_dir.as_deref().filter(|folder| !file.path(folder).is_dir())?;
    Some(format!("the folder `{folder}` of `tools.search.model_dir` is not there; `builtin` takes its place"))
}

#[cfg(feature = "onnx")]
fn check_name(name: &str) -> Result<(), EmbedError> {
    toolcrib_search::embedding::NamedModel::find(name).map(drop)
}

/// Accepts any name, since this build has no models.
#[cfg(not(feature = "onnx"))]
#[expect(clippy::unnecessary_wraps, reason = "with models there is an error")]
fn check_name(_: &str) -> Result<(), EmbedError> {
    Ok(())
}

/// Returns the enrichment that makes the vectors, without its cache if it is forced; `None` for the tier `keyword`, and
/// if one of the others makes them.
pub(crate) fn enrichment(
    search: &SearchSection,
    app: &App,
    others: &[Arc<dyn Enrichment>],
    patience: Duration,
    is_forced: bool,
) -> Option<Arc<dyn Enrichment>> {
    let search = search.clone();
    let is_there = others.iter().any(|enrichment| enrichment.key() == Embeddings::KEY);
    if search.tier == SearchTier::Keyword || is_there {
        return None;
    }
    let model_dir = search.model_dir.as_deref().map(|folder| app.file.path(folder));
    let open = move || {
        if !search.tier.takes_model() {
            return builtin();
        }
        match open_model(search.tier, search.model.as_deref(), model_dir.as_deref()) {
            Ok(embedder) => OpenedEmbedder { embedder: Some(embedder), fault: None },
            Err(error) => OpenedEmbedder { fault: Some(error), ..builtin() },
        }
    };
    let mut enrichment = EmbeddingsEnrichment::lazy(open).with_wait(patience);
    if let Some(folder) = cache_folder(KEPT).filter(|_| !is_forced) {
        enrichment = enrichment.with_cache(folder);
    }
    if let Some(store) = app.shared_store().filter(|_| !is_forced) {
        let table = RecordTable::new(Arc::clone(store), RecordKind::Vectors);
        enrichment = enrichment.with_table(Arc::new(table));
    }
    Some(Arc::new(enrichment))
}

fn builtin() -> OpenedEmbedder {
    match BuiltinEmbedder::new() {
        Ok(embedder) => OpenedEmbedder { embedder: Some(Arc::new(embedder)), fault: None },
        Err(error) => OpenedEmbedder { embedder: None, fault: Some(error) },
    }
}

/// Opens the model of the tier `model` or `fastembed`: the one in a folder, else the one of a name.
#[cfg(feature = "onnx")]
pub fn open_model(
    tier: SearchTier,
    name: Option<&str>,
    folder: Option<&Path>,
) -> Result<Arc<dyn Embedder>, EmbedError> {
    use toolcrib_search::embedding::{FastEmbedder, RtenEmbedder};
    let libraries = runtime_library_folder();
    let libraries = libraries.as_deref();
    if let Some(folder) = folder {
        return Ok(match tier {
            SearchTier::Fastembed => Arc::new(FastEmbedder::open(folder, libraries)?),
            _ => Arc::new(RtenEmbedder::open(folder)?),
        });
    }
    let name = name.unwrap_or(DEFAULT_MODEL);
    let Some(models) = models_folder() else {
        let message = "there is no folder for it: set XDG_CACHE_HOME or HOME".to_owned();
        return Err(EmbedError::Model { model: name.to_owned(), message });
    };
    Ok(match tier {
        SearchTier::Fastembed => Arc::new(FastEmbedder::open_named(name, &models, libraries)?),
        _ => Arc::new(RtenEmbedder::open_named(name, &models)?),
    })
}

/// Opens the model of the tier `model` or `fastembed`, which this build cannot run.
#[cfg(not(feature = "onnx"))]
pub fn open_model(
    _: SearchTier,
    name: Option<&str>,
    folder: Option<&Path>,
) -> Result<Arc<dyn Embedder>, EmbedError> {
    let model =
        folder.map_or_else(|| name.unwrap_or(DEFAULT_MODEL).to_owned(), |path| path.display().to_string());
    let message =
        "this build is without the feature `fastembed`; build with it, or leave `tier` out".to_owned();
    Err(EmbedError::Model { model, message })
}
