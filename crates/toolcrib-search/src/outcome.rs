//! What a search gives back.

use serde::Serialize;
use toolcrib_model::QualifiedName;

use crate::Field;

/// The fewest hits that can be asked for.
pub const MIN_LIMIT: usize = 1;
/// The most hits of one answer: more is not read, and costs the model its window.
pub const MAX_LIMIT: usize = 20;
/// How many hits there are when nothing is said.
pub const DEFAULT_LIMIT: usize = 5;
/// How many names [`Outcome::nearest`] holds at most.
pub const MAX_NEAREST: usize = 3;

/// How to search.
#[derive(Clone, Copy)]
pub struct SearchOptions<'a> {
    /// How many hits at most; brought into [`MIN_LIMIT`]`..=`[`MAX_LIMIT`].
    pub limit: usize,
    /// Which tools may be seen. What it refuses appears nowhere in the outcome.
    pub filter: Option<&'a dyn Fn(&QualifiedName) -> bool>,
}

impl Default for SearchOptions<'_> {
    fn default() -> Self {
        Self { limit: DEFAULT_LIMIT, filter: None }
    }
}

impl std::fmt::Debug for SearchOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchOptions")
            .field("limit", &self.limit)
            .field("filter", &self.filter.is_some())
            .finish()
    }
}

impl SearchOptions<'_> {
    pub(crate) fn bounded_limit(&self) -> usize {
        self.limit.clamp(MIN_LIMIT, MAX_LIMIT)
    }

    pub(crate) fn allows(&self, name: &QualifiedName) -> bool {
        self.filter.is_none_or(|filter| filter(name))
    }
}

/// The answer to a query.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// What was found, best first.
    pub hits: Vec<Hit>,
    /// Why nothing was found; `None` exactly when there are hits.
    pub no_match: Option<Reason>,
    /// Visible tools with a name like the query, when nothing was found.
    pub nearest: Vec<QualifiedName>,
}

/// A tool that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hit {
    /// Which tool.
    pub name: QualifiedName,
    /// How well it fits. Never rises from one hit to the next; not to be compared between queries.
    pub score: f32,
    /// Why it was found.
    pub explain: Explain,
}

/// Why a tool was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Explain {
    /// Whether the query names the tool.
    pub exact: bool,
    /// The score of the keyword arm, before an exact name lifted the tool.
    pub keyword: f32,
    /// The words of the query that the tool matched, as they were written (folded).
    pub terms: Vec<String>,
    /// The fields that they matched in.
    pub fields: Vec<Field>,
}

/// Why nothing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// The query has no word in it.
    EmptyQuery,
    /// No visible tool matches a word of the query that says anything.
    NothingSimilar,
    /// The index could not be read.
    IndexUnreadable,
}

impl Reason {
    /// `empty_query`, `nothing_similar` or `index_unreadable`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EmptyQuery => "empty_query",
            Self::NothingSimilar => "nothing_similar",
            Self::IndexUnreadable => "index_unreadable",
        }
    }
}
