//! Discovery: finding and describing tools for a caller.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_model::text::truncate_bytes;
use toolcrib_model::{ErrorKind, JsonObject, QualifiedName, Risk, ToolError};
use toolcrib_policy::{Policy, Principal, RUNTIME_NAMESPACE};
use toolcrib_port::ToolLoader;
use toolcrib_registry::{Entry, Overloads, Snapshot, ToolRegistry};
use toolcrib_search::{Explain, Hit, MAX_QUERY_BYTES, Outcome, Reason, SearchOptions, SearchSettings};

use crate::index::{CurrentIndex, IndexedSnapshot};
use crate::signature::{Level, Line, MAX_LISTED_DESCRIPTION, packed};
use crate::source_notes::{NOTES, SourceNotes};
use crate::summary::cut;
use crate::tool_card::{self, ToolDetail};
use crate::{ToolCard, empty_search};

/// The minimum share of the best tool's score at which others are shown: those below share a word by chance.
const NEAR: f32 = 0.25;

/// The engine of results that were found by words only.
const KEYWORD: &str = "keyword";

/// The engine of results that were found by words and meaning.
const HYBRID: &str = "hybrid";

/// The outcome of a search that found nothing.
const NO_MATCH: &str = "no_match";

/// The outcome of a search without a good match.
const WEAK: &str = "weak";

/// The most tools that are shown then.
const MAX_WEAK: usize = 3;

/// The next step that a model is advised to take then.
const WEAK_HINT: &str =
    "these come nearest, and may not fit: search with other words, in English, or answer without a tool";

/// The note for a model that a search was degraded.
const DEGRADED: &str = "part of the search could not be used, so tools may be missing or in a poor order";

/// A view of the tools for callers: each query comes with a [`Principal`], which sees no tool that it may not use.
pub struct Discovery {
    pub(crate) index: CurrentIndex,
    pub(crate) policy: Arc<Policy>,
    pub(crate) descriptions: BTreeMap<String, String>,
    pub(crate) sources: SourceNotes,
}

/// The results of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchResults {
    /// The query, truncated to the part that was read.
    pub query: String,
    /// `ok`, `weak` if there is no good match, or `no_match`.
    pub outcome: &'static str,
    /// The reason why nothing was found.
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
    /// The number of matching tools that the caller may not use, if nothing else was found.
    #[serde(skip_serializing_if = "is_zero")]
    pub withheld: usize,
    /// The advice if nothing was found.
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
    /// Creates a view of this registry, limited by the policy.
    pub fn new(registry: &Arc<ToolRegistry>, policy: Arc<Policy>) -> Self {
        let (descriptions, sources) = (BTreeMap::new(), SourceNotes::default());
        Self { index: CurrentIndex::new(registry), policy, descriptions, sources }
    }

    /// Sets the sources, which describe themselves and the use of their tools.
    pub fn with_sources(mut self, loaders: Vec<Arc<dyn ToolLoader>>) -> Self {
        self.sources = SourceNotes::new(loaders);
        self
    }

    /// Sets the descriptions of namespaces.
    pub fn with_descriptions(mut self, descriptions: BTreeMap<String, String>) -> Self {
        self.descriptions = descriptions;
        self
    }

    /// Sets the fusion of the word and semantic rankings, and the synonyms.
    pub fn with_search(mut self, settings: SearchSettings) -> Self {
        self.index.settings = settings;
        self
    }

    /// Caches the words of large registries in this folder, so that the next start is quick; see
    /// [`SearchIndex::build_cached`].
    ///
    /// [`SearchIndex::build_cached`]: toolcrib_search::SearchIndex::build_cached
    pub fn with_word_cache(mut self, folder: Option<PathBuf>) -> Self {
        self.index.folder = folder;
        self
    }

    /// Returns the tools that match a query, best first.
    pub fn search(
        &self,
        query: &str,
        limit: usize,
        principal: Principal<'_>,
    ) -> Result<SearchResults, ToolError> {
        Ok(self.search_in(&*self.index.get(principal.session)?, query, limit, principal))
    }

    /// Returns the results of a search for a model, without scores, which models overrate.
    pub(crate) fn search_for_model(
        &self,
        query: &str,
        limit: usize,
        principal: Principal<'_>,
    ) -> Result<Value, ToolError> {
        let indexed = self.index.get(principal.session)?;
        let found = self.search_in(&indexed, query, limit, principal);
        let mut told = JsonObject::from_iter([("outcome".to_owned(), json!(found.outcome))]);
        if found.outcome == NO_MATCH {
            // A model must not learn that there is a tool which it may not use.
            let is_denied = found.reason == Some(Reason::NotPermitted.as_str());
            let (reason, hint) = if is_denied {
                let reason = Reason::NothingSimilar;
                (Some(reason.as_str()), Some(empty_search::hint(reason, 0)))
            } else {
                (found.reason, found.hint)
            };
            told.insert("reason".into(), json!(reason));
            told.insert("nearest".into(), json!(found.nearest));
            told.insert("hint".into(), json!(hint));
        } else {
            let lines = found.results.iter().filter_map(|tool| {
                let forms = self.visible(&indexed.snapshot, &tool.qualified_name, principal)?;
                let form = indexed.search.best_overload(query, forms.iter().map(|entry| entry.tool.as_ref()));
                Line::new(&forms, form, &self.policy, principal)
            });
            if found.outcome == WEAK {
                let lines = lines.take(MAX_WEAK).map(|line| line.at(Level::Required));
                told.insert("results".into(), lines.collect());
                told.insert("hint".into(), WEAK_HINT.into());
            } else {
                let lines = packed(&lines.collect::<Vec<_>>(), limit);
                told.insert("results".into(), lines.into());
            }
        }
        let namespaces = found.results.iter().map(|tool| tool.qualified_name.namespace());
        let notes = self.sources.first(namespaces, principal);
        if !notes.is_empty() {
            told.insert(NOTES.into(), notes.into());
        }
        if found.degraded {
            told.insert("note".into(), json!(DEGRADED));
        }
        Ok(told.into())
    }

    fn search_in(
        &self,
        indexed: &IndexedSnapshot,
        query: &str,
        limit: usize,
        principal: Principal<'_>,
    ) -> SearchResults {
        let filter = |name: &QualifiedName| self.visible(&indexed.snapshot, name, principal).is_some();
        let outcome = indexed.search.search(query, &SearchOptions { limit, filter: Some(&filter) });
        let is_weak = outcome.is_weak();
        let Outcome { hits, no_match, nearest, withheld, .. } = outcome;
        let no_match =
            no_match.map(|reason| empty_search::reason(reason, query, indexed.snapshot.rejected()));
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
            reason: no_match.map(Reason::as_str),
            degraded: indexed.degraded().is_some(),
            engine: if indexed.search.model().is_some() { HYBRID } else { KEYWORD },
            results: results.collect(),
            nearest: nearest.iter().map(QualifiedName::shown).collect(),
            withheld,
            hint: no_match.map(|reason| empty_search::hint(reason, withheld)),
        }
    }

    /// Returns the complete description of a tool, by any spelling of its name.
    pub fn describe(&self, name: &str, principal: Principal<'_>) -> Result<ToolCard, ToolError> {
        let snapshot = self.index.snapshot_of(principal.session)?;
        let overloads = snapshot
            .find(name, |entry| self.policy.is_visible(&entry.tool, principal))
            .map_err(|error| ToolError::from(&error))?;
        let unknown = || ToolError::new(ErrorKind::UnknownTool, format!("there is no tool `{name}`"));
        ToolCard::new(&overloads, &snapshot, &self.policy, principal).ok_or_else(unknown)
    }

    /// Returns the answer of `get_tool`: parameters, description, and the sections in `include`; with a `path`, one
    /// part of the parameters. Misspelled names are tolerated.
    pub fn tool_for_model(
        &self,
        name: &str,
        path: &str,
        include: &[ToolDetail],
        principal: Principal<'_>,
    ) -> Result<JsonObject, ToolError> {
        let snapshot = self.index.snapshot_of(principal.session)?;
        let overloads = snapshot
            .find_near(name, |entry| self.policy.is_visible(&entry.tool, principal))
            .map_err(|error| ToolError::from(&error))?;
        tool_card::for_model(&overloads, path, include, &snapshot, &self.policy, principal)
    }

    /// Returns the complete description of a tool for the operator, who also sees tools that no caller may use.
    pub fn inspect(&self, name: &str, principal: Principal<'_>) -> Result<ToolCard, ToolError> {
        let snapshot = self.index.snapshot_of(principal.session)?;
        let overloads = snapshot.find(name, |_| true).map_err(|error| ToolError::from(&error))?;
        let unknown = || ToolError::new(ErrorKind::UnknownTool, format!("there is no tool `{name}`"));
        ToolCard::new(&overloads, &snapshot, &self.policy, principal).ok_or_else(unknown)
    }

    pub(crate) fn visible<'a>(
        &self,
        snapshot: &'a Snapshot,
        name: &QualifiedName,
        principal: Principal<'_>,
    ) -> Option<Overloads<'a>> {
        snapshot.get(name)?.visible(|entry: &Entry| self.policy.is_visible(&entry.tool, principal))
    }

    /// Returns the visible names, without those of the runtime.
    pub(crate) fn names<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        principal: Principal<'a>,
    ) -> impl Iterator<Item = &'a QualifiedName> {
        snapshot.tool_names().filter(move |name| {
            let visible = || {
                self.visible(snapshot, name, principal)?
                    .first()
                    .map(|entry| !entry.tool.traits().only_for_programs)
            };
            name.namespace() != RUNTIME_NAMESPACE && visible().unwrap_or(false)
        })
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
