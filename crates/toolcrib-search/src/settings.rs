//! The search settings of an app.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most bytes of a query that are read. Requests that people write stay below 2 KB.
pub const MAX_QUERY_BYTES: usize = 4 * 1024;
/// The most groups of synonyms that an app may add.
pub const MAX_SYNONYM_GROUPS: usize = 1024;
/// The most words of one group; further words are ignored.
pub const MAX_SYNONYM_WORDS: usize = 64;

/// The method that combines the results of both retrievers into one ranking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ranking {
    /// The scores of both retrievers, normalized to the range from 0 to 1, with a semantic weight that depends on the
    /// query.
    #[default]
    Fused,
    /// Ten times the semantic similarity, plus a boost of two to three for tools that the keyword retriever finds.
    Weighted,
}

/// The search settings of an app.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SearchSettings {
    /// The method that combines the results of both retrievers.
    pub ranking: Ranking,
    /// Groups of interchangeable words, in addition to the built-in ones. At most [`MAX_SYNONYM_GROUPS`].
    pub synonyms: Vec<Vec<String>>,
}
