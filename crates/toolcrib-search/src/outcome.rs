//! The result of a search.

use serde::Serialize;
use toolcrib_model::QualifiedName;

use crate::Field;
use crate::limits::{MAX_LIMIT, MIN_LIMIT};

/// The number of hits unless a limit is set.
const DEFAULT_LIMIT: usize = 5;
/// The most names in [`Outcome::nearest`].
pub(crate) const MAX_NEAREST: usize = 3;

/// The options of a search.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct SearchOptions<'a> {
    /// The most hits to return, clamped to [`MIN_LIMIT`]`..=`[`MAX_LIMIT`].
    pub limit: usize,
    /// The only namespace whose tools are wanted; all if `None`.
    pub namespace: Option<&'a str>,
    /// A filter that returns true for visible tools. The others appear nowhere in the outcome.
    pub filter: Option<&'a dyn Fn(&QualifiedName) -> bool>,
}

impl Default for SearchOptions<'_> {
    fn default() -> Self {
        Self { limit: DEFAULT_LIMIT, namespace: None, filter: None }
    }
}

impl std::fmt::Debug for SearchOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchOptions")
            .field("limit", &self.limit)
            .field("namespace", &self.namespace)
            .field("filter", &self.filter.is_some())
            .finish()
    }
}

impl SearchOptions<'_> {
    /// Creates the options of a search in all tools.
    pub fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    pub(crate) fn bounded_limit(&self) -> usize {
        self.limit.clamp(MIN_LIMIT, MAX_LIMIT)
    }

    pub(crate) fn allows(&self, name: &QualifiedName) -> bool {
        self.namespace.is_none_or(|namespace| name.namespace() == namespace)
            && self.filter.is_none_or(|filter| filter(name))
    }
}

/// The answer to a query.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The tools that match, best first.
    pub hits: Vec<Hit>,
    /// The reason why nothing was found. `None` exactly if there are hits.
    pub no_match: Option<Reason>,
    /// Visible tools that resemble the query, if nothing was found.
    pub nearest: Vec<QualifiedName>,
    /// The number of matching tools that the filter hides, if nothing else was found or all hits are weak. At most
    /// [`MAX_LIMIT`].
    pub withheld: usize,
    /// The evidence that the answer is based on.
    pub evidence: Evidence,
}

impl Outcome {
    /// Returns true if the hits may well not fit: the query names no tool, and the best hit hardly resembles it more than
    /// it would an unrelated request.
    pub fn is_weak(&self) -> bool {
        self.hits.first().is_some_and(|hit| !hit.explain.exact) && self.evidence.is_weak()
    }

    pub(crate) fn no_match(reason: Reason, nearest: Vec<QualifiedName>, evidence: Evidence) -> Self {
        Self { hits: Vec::new(), no_match: Some(reason), nearest, withheld: 0, evidence }
    }
}

/// The evidence for and against a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// The confidence, from 0 to 1, that one of the tools is meant. Below [`MIN_CONFIDENCE`](crate::limits::MIN_CONFIDENCE)
    /// there is no match.
    pub confidence: f32,
    /// The weighted share of the query's words that the best tool contains.
    pub covered: f32,
    /// The best score of the keyword retriever, relative to the score of a tool that contains every word.
    pub keyword: f32,
    /// The similarity of the tool most similar to the query. `None` without vectors, or for a query of unknown words.
    #[serde(rename = "likeness")]
    pub similarity: Option<f32>,
    /// The semantic weight in the ranking.
    pub weight: f32,
}

/// A tool that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hit {
    /// The name of the tool.
    pub name: QualifiedName,
    /// The score. It never rises from one hit to the next. Scores of different queries are not comparable.
    pub score: f32,
    /// The explanation of the match.
    pub explain: Explain,
}

/// The reasons why a tool was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Explain {
    /// True if the query names the tool.
    pub exact: bool,
    /// The combined score of the retrievers, before an exact name raised it.
    pub fused: f32,
    /// The result of the keyword retriever.
    pub keyword: Option<RetrieverScore>,
    /// The result of the semantic retriever.
    pub meaning: Option<RetrieverScore>,
    /// The words of the query that the tool matched, as they were written (folded).
    pub terms: Vec<String>,
    /// The fields that they matched in.
    pub fields: Vec<Field>,
}

/// The rank and the score of a tool in one retriever.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RetrieverScore {
    /// The rank, from 1. `None` if the tool is not among the best of the retriever.
    pub rank: Option<usize>,
    /// The score of the retriever: BM25F, or the cosine.
    pub score: f32,
    /// The normalized score, before the weight of the retriever: from 0 to 1 if the ranking is fused.
    pub share: f32,
    /// The weight of the retriever.
    pub weight: f32,
}

/// The reason why nothing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// The query contains no word.
    EmptyQuery,
    /// No visible tool resembles the query.
    NothingSimilar,
    /// The matching tools may not be used. [`Outcome::withheld`] is their number.
    NotPermitted,
    /// A source is unavailable, and the tool may be one of its tools. Set by callers that know the sources, never by an
    /// index.
    SourceDown,
    /// A source needs a login, and the tool may be one of its tools. Set by callers that know the sources.
    NeedsLogin,
    /// A tool is withheld because it differs from the one that was approved. Set by callers that know the sources.
    Quarantined,
}

impl Reason {
    /// Returns the serialized form.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EmptyQuery => "empty_query",
            Self::NothingSimilar => "nothing_similar",
            Self::NotPermitted => "not_permitted",
            Self::SourceDown => "source_down",
            Self::NeedsLogin => "needs_login",
            Self::Quarantined => "quarantined",
        }
    }
}
