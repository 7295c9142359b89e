//! Search for a model: several queries at once, and the tools as signatures without scores, which models overrate.

use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, JsonObject, QualifiedName, ToolError};
use toolcrib_policy::Principal;
use toolcrib_schema::typescript::Declarations;
use toolcrib_search::{Explain, Reason};

use super::{FoundTool, NO_MATCH, SearchResults, WEAK, no_match};
use crate::discovery::Discovery;
use crate::index::IndexedSnapshot;
use crate::names::SEARCH_TOOLS;
use crate::signature::{Line, declared, packed};
use crate::source_notes::NOTES;
use crate::summary::cut;
use crate::tool_card::{CUT_TYPES, TYPES};

/// The most queries of one search.
pub(crate) const MAX_QUERIES: usize = 5;

/// The most words of the query that are shown as the reason for a match.
const MAX_MATCHED_WORDS: usize = 3;

/// The most characters of such a word.
const MAX_MATCHED_CHARS: usize = 24;

/// The next step if no tool of a namespace matches.
const NAMESPACE_HINT: &str = "no tool of this namespace matches; search without `namespace`";

/// The note for a model that a search was degraded.
const DEGRADED: &str = "part of the search could not be used, so tools may be missing or in a poor order";

/// The results of a search for a model.
#[derive(Clone, Debug)]
pub(crate) struct ModelFindings {
    /// The text for the model, as JSON.
    pub told: Value,
    /// The tools that were found, in the order in which they are told.
    pub found: Vec<QualifiedName>,
}

/// A search by a model.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelSearch {
    /// The queries: one, or one for each step of a task.
    pub queries: Vec<String>,
    /// The only namespace whose tools are wanted, as the model denotes it.
    pub namespace: Option<String>,
    /// The most tools for each query.
    pub limit: usize,
    /// True if the tools are declared in TypeScript instead of signatures.
    pub as_types: bool,
}

impl Discovery {
    /// Returns the results of a search for a model: of its query, or of each under `searches`.
    ///
    /// # Errors
    ///
    /// There is no query, or an unknown namespace.
    pub(crate) fn search_for_model(
        &self,
        search: &ModelSearch,
        principal: Principal<'_>,
    ) -> Result<ModelFindings, ToolError> {
        let indexed = self.index.get(principal.session)?;
        let namespace = search.namespace.as_deref().filter(|text| !text.trim().is_empty());
        let namespace = namespace.map(|given| self.category(given, principal)).transpose()?;
        let mut shown = Vec::new();
        let mut answer = |query: &str| {
            let found = self.search_in(&indexed, query, namespace.as_deref(), search.limit, principal);
            let answer = self.answer(&indexed, &found, namespace.is_some(), &shown, search, principal);
            for FoundTool { qualified_name, .. } in found.results {
                if !shown.contains(&qualified_name) {
                    shown.push(qualified_name);
                }
            }
            answer
        };
        let mut told = match search.queries.as_slice() {
            [] => {
                let message = format!("`{SEARCH_TOOLS}` has no query");
                let hint = "pass `query`, or `queries` for the steps of a task";
                return Err(ToolError::new(ErrorKind::InvalidArgs, message).with_hint(hint));
            }
            [query] => answer(query),
            queries => {
                let searches = queries.iter().take(MAX_QUERIES).map(|query| {
                    let mut told = answer(query);
                    told.shift_insert(0, "query".into(), query.as_str().into());
                    Value::Object(told)
                });
                JsonObject::from_iter([("searches".to_owned(), searches.collect())])
            }
        };
        let namespaces = shown.iter().map(QualifiedName::namespace);
        let notes = self.sources.first(namespaces, principal);
        if !notes.is_empty() {
            told.insert(NOTES.into(), notes.into());
        }
        if indexed.degraded().is_some() {
            told.insert("note".into(), json!(DEGRADED));
        }
        Ok(ModelFindings { told: told.into(), found: shown })
    }

    /// Returns the answer to one query. Tools that are `shown` already are only named.
    fn answer(
        &self,
        indexed: &IndexedSnapshot,
        found: &SearchResults,
        is_limited: bool,
        shown: &[QualifiedName],
        search: &ModelSearch,
        principal: Principal<'_>,
    ) -> JsonObject {
        let mut told = JsonObject::from_iter([("outcome".to_owned(), json!(found.outcome))]);
        // A model must not learn that there is a tool which it may not use.
        let is_denied = found.reason == Some(Reason::NotPermitted.as_str());
        if found.outcome == NO_MATCH {
            let nothing = Reason::NothingSimilar;
            let (reason, hint) = if is_denied {
                (Some(nothing.as_str()), Some(no_match::hint(nothing, 0)))
            } else {
                (found.reason, found.hint.clone())
            };
            let is_elsewhere = is_limited && reason == Some(nothing.as_str());
            let hint = if is_elsewhere { Some(NAMESPACE_HINT.to_owned()) } else { hint };
            told.insert("reason".into(), json!(reason));
            told.insert("nearest".into(), json!(found.nearest));
            told.insert("hint".into(), json!(hint));
            return told;
        }
        let is_shown = |tool: &&FoundTool| shown.contains(&tool.qualified_name);
        let new = found.results.iter().filter(|tool| !is_shown(tool));
        let forms = new.filter_map(|tool| {
            let forms = self.visible(&indexed.snapshot, &tool.qualified_name, principal)?;
            Some((tool, forms))
        });
        let mut lines = if search.as_types {
            let forms: Vec<_> = forms.map(|(_, forms)| forms).collect();
            let Declarations { text, is_cut } = declared(&forms, &self.policy, principal);
            told.insert(TYPES.into(), text.into());
            told.extend(is_cut.then(|| ("note".to_owned(), CUT_TYPES.into())));
            Vec::new()
        } else {
            let lines = forms.filter_map(|(tool, forms)| {
                let tools = forms.iter().map(|entry| entry.tool.as_ref());
                let form = indexed.search.best_overload(&found.query, tools);
                let line = Line::new(&forms, form, &self.policy, principal)?;
                Some(line.with_match(match_reason(&tool.explain)))
            });
            packed(&lines.collect::<Vec<_>>(), search.limit)
        };
        let again = found.results.iter().filter(is_shown);
        lines.extend(again.map(|tool| format!("{} (see above)", tool.qualified_name.shown())));
        if !search.as_types || !lines.is_empty() {
            told.insert("results".into(), lines.into());
        }
        if found.outcome == WEAK {
            let missing = found.reason.filter(|_| !is_denied);
            let hint = if is_denied { Some(no_match::weak_hint(None)) } else { found.hint.clone() };
            told.extend(missing.map(|reason| ("reason".to_owned(), json!(reason))));
            told.extend(hint.map(|hint| ("hint".to_owned(), json!(hint))));
        }
        told
    }
}

/// Returns the reason why a tool was found: the words of the query that it has, or that it has a similar meaning.
fn match_reason(explain: &Explain) -> String {
    if explain.exact {
        return "named".to_owned();
    }
    if explain.terms.is_empty() {
        return "similar meaning".to_owned();
    }
    let words = explain.terms.iter().take(MAX_MATCHED_WORDS).map(|word| cut(word, MAX_MATCHED_CHARS));
    format!("matches {}", words.collect::<Vec<_>>().join(", "))
}
