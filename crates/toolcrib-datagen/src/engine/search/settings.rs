//! The settings of engines that search documents.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

/// The maximum number of results of one search.
pub(crate) const MAX_SIZE: usize = 100;

/// The default number of results.
const DEFAULT_SIZE: NonZeroUsize = NonZeroUsize::new(5).unwrap();

/// The default name of the argument with the words.
const DEFAULT_QUERY: &str = "query";

/// The settings in `tools.engines.<name>` of `type: search/file` and `type: search/in_memory`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct DocumentSearchSettings {
    /// The file with the documents, for `search/file`: one JSON value for each line, or one JSON list.
    pub path: Option<PathBuf>,
    /// The documents, for `search/in_memory`: texts, or mappings.
    pub documents: Option<Vec<Value>>,
    /// The members of documents that are searched; all texts by default.
    #[serde(default)]
    pub fields: Vec<String>,
    /// The index.
    #[serde(default)]
    pub index: DocumentIndexKind,
    /// The argument of the tools that has the words.
    #[serde(default = "default_query")]
    pub query: String,
    /// The maximum number of results.
    #[serde(default = "default_size")]
    pub size: NonZeroUsize,
    /// The minimum relevance of results, from 0 to 1.
    #[serde(default)]
    pub relevance_threshold: f64,
    /// The message with which a search without results fails. By default its result is an empty list.
    pub empty_result: Option<String>,
}

/// An index of documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DocumentIndexKind {
    /// The index of the search for tools. Of each document, the first 32 KiB count.
    #[default]
    Builtin,
    /// An index by tantivy, of whole documents. Only builds with the feature `tantivy` have it.
    Tantivy,
}

impl DocumentSearchSettings {
    /// Checks the values.
    ///
    /// # Errors
    ///
    /// The message names the setting.
    pub fn check(&self) -> Result<(), String> {
        if self.size.get() > MAX_SIZE {
            return Err(format!("`size` is at most {MAX_SIZE}, found {}", self.size));
        }
        if !(0.0..=1.0).contains(&self.relevance_threshold) {
            let found = self.relevance_threshold;
            return Err(format!("`relevance_threshold` is from 0 to 1, found {found}"));
        }
        Ok(())
    }
}

fn default_query() -> String {
    DEFAULT_QUERY.to_owned()
}

fn default_size() -> NonZeroUsize {
    DEFAULT_SIZE
}
