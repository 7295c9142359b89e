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
    /// Visible tools that come nearest, when nothing was found.
    pub nearest: Vec<QualifiedName>,
    /// How many tools fit that may not be seen, when nothing else was found: never more than [`MAX_LIMIT`].
    pub withheld: usize,
    /// What the answer rests on.
    pub evidence: Evidence,
}

impl Outcome {
    /// Returns true if there are hits that may well not be what was asked for: none is named, and the best has little of the
    /// query.
    pub fn is_weak(&self) -> bool {
        self.hits.first().is_some_and(|hit| !hit.explain.exact) && self.evidence.is_weak()
    }

    pub(crate) fn no_match(reason: Reason, nearest: Vec<QualifiedName>, evidence: Evidence) -> Self {
        Self { hits: Vec::new(), no_match: Some(reason), nearest, withheld: 0, evidence }
    }
}

/// What speaks for and against that there is a tool for a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// How sure it is, from 0 to 1, that one of the tools is meant; below [`MIN_CONFIDENCE`](crate::MIN_CONFIDENCE) there is no match.
    pub confidence: f32,
    /// The share of what the words of the query weigh that the best tool has.
    pub covered: f32,
    /// The best score of the keyword arm, beside what a tool could have that has every word.
    pub keyword: f32,
    /// The likeness of the tool that is most like the query; none without vectors, or for a query of unknown words.
    pub likeness: Option<f32>,
    /// The weight of the meaning in the ranking.
    pub weight: f32,
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
    /// What the arms make of it together, before an exact name lifted the tool.
    pub fused: f32,
    /// Its place in the keyword arm.
    pub keyword: Option<ArmPlace>,
    /// Its place in the arm of meaning.
    pub meaning: Option<ArmPlace>,
    /// The words of the query that the tool matched, as they were written (folded).
    pub terms: Vec<String>,
    /// The fields that they matched in.
    pub fields: Vec<Field>,
}

/// The place of a tool in one arm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ArmPlace {
    /// From 1; none where it is not among the best of the arm.
    pub rank: Option<usize>,
    /// The score of the arm: of BM25F, or the cosine.
    pub score: f32,
    /// What the score counts for, before the weight of the arm: from 0 to 1 when they are fused.
    pub share: f32,
    /// The weight of the arm.
    pub weight: f32,
}

/// Why nothing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// The query has no word in it.
    EmptyQuery,
    /// No visible tool is like the query.
    NothingSimilar,
    /// Tools fit that may not be used: [`Outcome::withheld`] says how many.
    NotPermitted,
    /// A source is down, and what is asked for may be among its tools. For whoever knows the sources; never from an
    /// index.
    SourceDown,
    /// A source waits for a login, and what is asked for may be among its tools. For whoever knows the sources.
    NeedsLogin,
    /// A tool is held back since it is not the one that was approved. For whoever knows the sources.
    Quarantined,
    /// The index could not be read.
    IndexUnreadable,
}

impl Reason {
    /// As serde writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EmptyQuery => "empty_query",
            Self::NothingSimilar => "nothing_similar",
            Self::NotPermitted => "not_permitted",
            Self::SourceDown => "source_down",
            Self::NeedsLogin => "needs_login",
            Self::Quarantined => "quarantined",
            Self::IndexUnreadable => "index_unreadable",
        }
    }
}
