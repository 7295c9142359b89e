//! Search: the tools that match a query, within the policy of a caller.

pub(crate) mod for_model;
mod no_match;

use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_model::text::truncate_bytes;
use toolcrib_model::{QualifiedName, Risk, ToolError};
use toolcrib_policy::Principal;
use toolcrib_registry::Entry;
use toolcrib_search::{Explain, Hit, MAX_QUERY_BYTES, Outcome, Reason, SearchOptions};

use crate::discovery::Discovery;
use crate::index::IndexedSnapshot;
use crate::signature::MAX_LISTED_DESCRIPTION;
use crate::summary::cut;

/// The minimum share of the best tool's score at which others are shown: those below share a word by chance.
const NEAR: f32 = 0.25;

/// The engine of results that were found by words only.
const KEYWORD: &str = "keyword";

/// The engine of results that were found by words and meaning.
const HYBRID: &str = "hybrid";

/// The outcome of a search that found nothing.
const NO_MATCH: &str = "no_match";

/// The outcome of a search whose results may not fit.
const WEAK: &str = "weak";

/// The results of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchResults {
    /// The query, truncated to the part that was read.
    pub query: String,
    /// `ok`, `weak` if the results may not fit, or `no_match`.
    pub outcome: &'static str,
    /// The reason why nothing was found, or what may be missing if the results may not fit.
    pub reason: Option<&'static str>,
    /// True if part of the search was not available.
    pub degraded: bool,
    /// The engine of the search.
    pub engine: &'static str,
    /// The tools, best first.
    pub results: Vec<FoundTool>,
    /// The nearest names if nothing was found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<String>,
    /// The number of matching tools that the caller may not use, if nothing else was found that fits.
    #[serde(skip_serializing_if = "is_zero")]
    pub withheld: usize,
    /// The advice if nothing was found or the results may not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A tool that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundTool {
    /// `namespace.name`.
    pub name: String,
    /// `namespace::name`.
    pub qualified_name: QualifiedName,
    /// The score of the match; comparable within one search.
    pub score: f32,
    /// The description, shortened.
    pub description: String,
    /// The risk of a call.
    pub risk: Risk,
    /// A call in the form of `execute_tool`, with valid arguments if there is an example.
    pub example_call: Value,
    /// The explanation of the match.
    pub explain: Explain,
}

impl Discovery {
    /// Returns the tools that match a query, best first.
    pub fn search(
        &self,
        query: &str,
        limit: usize,
        principal: Principal<'_>,
    ) -> Result<SearchResults, ToolError> {
        Ok(self.search_in(&*self.index.get(principal.session)?, query, None, limit, principal))
    }

    /// Returns the tools of a namespace that match a query, best first. The namespace is denoted as in
    /// [`browse`](Self::browse); an unknown one is an error.
    pub fn search_namespace(
        &self,
        namespace: &str,
        query: &str,
        limit: usize,
        principal: Principal<'_>,
    ) -> Result<SearchResults, ToolError> {
        let namespace = self.category(namespace, principal)?;
        Ok(self.search_in(&*self.index.get(principal.session)?, query, Some(&namespace), limit, principal))
    }

    fn search_in(
        &self,
        indexed: &IndexedSnapshot,
        query: &str,
        namespace: Option<&str>,
        limit: usize,
        principal: Principal<'_>,
    ) -> SearchResults {
        let filter = |name: &QualifiedName| self.visible(&indexed.snapshot, name, principal).is_some();
        let mut options = SearchOptions::new(limit);
        options.namespace = namespace;
        options.filter = Some(&filter);
        let outcome = indexed.search.search(query, &options);
        let is_weak = outcome.is_weak();
        let Outcome { hits, no_match, nearest, withheld, .. } = outcome;
        // What is missing may be what a weak search is for.
        let found = no_match.or_else(|| {
            is_weak.then_some(if withheld > 0 { Reason::NotPermitted } else { Reason::NothingSimilar })
        });
        let reason = found.map(|found| no_match::reason(found, query, indexed.snapshot.rejected()));
        let reason = reason.filter(|reason| no_match.is_some() || *reason != Reason::NothingSimilar);
        let best = hits.iter().map(|hit| hit.explain.fused).fold(0.0, f32::max);
        // An exact name counts regardless of the score.
        let is_near = |hit: &Hit| hit.explain.exact || hit.explain.fused >= best * NEAR;
        let results = hits.into_iter().filter(is_near).filter_map(|hit| {
            let entry = self.visible(&indexed.snapshot, &hit.name, principal)?.first()?;
            Some(FoundTool {
                name: hit.name.dotted(),
                qualified_name: hit.name,
                score: hit.score,
                description: cut(&entry.tool.description, MAX_LISTED_DESCRIPTION),
                risk: entry.tool.traits().risk,
                example_call: call(entry),
                explain: hit.explain,
            })
        });
        SearchResults {
            query: truncate_bytes(query, MAX_QUERY_BYTES).to_owned(),
            outcome: match no_match {
                Some(_) => NO_MATCH,
                None if is_weak => WEAK,
                None => "ok",
            },
            reason: reason.map(Reason::as_str),
            degraded: indexed.degraded().is_some(),
            engine: if indexed.search.model().is_some() { HYBRID } else { KEYWORD },
            results: results.collect(),
            nearest: nearest.iter().map(QualifiedName::shown).collect(),
            withheld,
            hint: match reason {
                Some(Reason::NotPermitted) => Some(no_match::hint(Reason::NotPermitted, withheld)),
                _ if is_weak => Some(no_match::weak_hint(reason)),
                Some(reason) => Some(no_match::hint(reason, withheld)),
                None => None,
            },
        }
    }
}

/// Returns a call in the form of `execute_tool`: with valid arguments, or with the arguments to be filled in.
fn call(entry: &Entry) -> Value {
    let params = entry.example_arguments().unwrap_or_else(|| json!({}));
    json!({"name": entry.tool.name.dotted(), "params": params})
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
