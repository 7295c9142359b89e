//! What an app may set of the search.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most groups of synonyms that an app may add.
pub const MAX_SYNONYM_GROUPS: usize = 1024;
/// The most words of one group; the rest is left out.
pub const MAX_SYNONYM_WORDS: usize = 64;

/// How the arms are made one ranking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ranking {
    /// Both arms brought to the range from 0 to 1, with a weight of the meaning that depends on the query.
    #[default]
    Fused,
    /// The likeness of meaning times ten, and a boost of two to three for tools that the keyword arm finds.
    Weighted,
}

/// What an app may set of the search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchSettings {
    /// How the arms are made one ranking.
    pub ranking: Ranking,
    /// Groups of words that stand for each other, besides those that are built in. At most [`MAX_SYNONYM_GROUPS`].
    pub synonyms: Vec<Vec<String>>,
}
