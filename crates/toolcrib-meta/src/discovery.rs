//! What there is, for whoever asks.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, QualifiedName, Risk, ToolError};
use toolcrib_policy::{Policy, Principal, RUNTIME_NAMESPACE};
use toolcrib_registry::{Entry, Overloads, Snapshot, ToolRegistry};
use toolcrib_search::{Explain, Outcome, SearchOptions, SearchSettings};

use crate::ToolCard;
use crate::index::CurrentIndex;
use crate::missing;

/// The most tools on one page.
pub const MAX_PAGE_SIZE: usize = 50;

/// The most characters of a description in a list; `get_tool` has all of it.
const MAX_LISTED_DESCRIPTION: usize = 240;

/// The engine of results that were found by their words alone.
const KEYWORD: &str = "keyword";

/// The engine of results that were found by words and meaning.
const HYBRID: &str = "hybrid";

/// What there is, for whoever asks: each question comes with a [`Principal`], who is told of nothing that it may not use.
pub struct Discovery {
    index: CurrentIndex,
    policy: Arc<Policy>,
    descriptions: BTreeMap<String, String>,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// The query as it was given.
    pub query: String,
    /// `ok` or `no_match`.
    pub outcome: &'static str,
    /// Why nothing was found.
    pub reason: Option<&'static str>,
    /// Whether part of the search could not be used.
    pub degraded: bool,
    /// How it was searched.
    pub engine: &'static str,
    /// The tools, best first.
    pub results: Vec<FoundTool>,
    /// The nearest names when nothing was found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<String>,
    /// How many tools fit that the caller may not use, when nothing else was found.
    #[serde(skip_serializing_if = "is_zero")]
    pub withheld: usize,
}

/// One tool that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundTool {
    /// `namespace.name`.
    pub name: String,
    /// `namespace::name`.
    pub qualified_name: QualifiedName,
    /// How well it fits; comparable within one search.
    pub score: f32,
    /// What it does, shortened.
    pub description: String,
    /// How much harm a call can do.
    pub risk: Risk,
    /// A call that is valid as it stands, ready to be filled in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example_call: Option<Value>,
    /// Why it was found.
    pub explain: Explain,
}

/// One namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Category {
    /// Its name.
    pub category: String,
    /// What it is for, when that is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// How many tools it has.
    pub tools: usize,
}

/// One page of a category.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Page {
    /// The category.
    pub category: String,
    /// Which page this is, from 1.
    pub page: usize,
    /// How many there are.
    pub pages: usize,
    /// How many tools the category has.
    pub total: usize,
    /// The tools on this page, by name: `{name, description, risk}`.
    pub tools: Vec<Value>,
}

impl Discovery {
    /// What this registry holds, as far as the policy lets it be seen.
    pub fn new(registry: &Arc<ToolRegistry>, policy: Arc<Policy>) -> Self {
        Self { index: CurrentIndex::new(registry), policy, descriptions: BTreeMap::new() }
    }

    /// Sets what namespaces are for.
    pub fn with_descriptions(mut self, descriptions: BTreeMap<String, String>) -> Self {
        self.descriptions = descriptions;
        self
    }

    /// Sets how words and meaning are made one ranking, and which words stand for each other.
    pub fn with_search(mut self, settings: SearchSettings) -> Self {
        self.index.settings = settings;
        self
    }

    /// The tools that fit a query, best first.
    pub fn search(&self, query: &str, limit: usize, principal: Principal<'_>) -> Result<Found, ToolError> {
        let indexed = self.index.get()?;
        let filter = |name: &QualifiedName| self.visible(&indexed.snapshot, name, principal).is_some();
        let outcome = indexed.search.search(query, &SearchOptions { limit, filter: Some(&filter) });
        let Outcome { hits, no_match, nearest, withheld, .. } = outcome;
        let no_match = no_match.map(|reason| missing::reason(reason, query, indexed.snapshot.rejected()));
        let results = hits.into_iter().filter_map(|hit| {
            let entry = self.visible(&indexed.snapshot, &hit.name, principal)?.first()?;
            Some(FoundTool {
                name: hit.name.dotted(),
                qualified_name: hit.name,
                score: hit.score,
                description: listed(&entry.tool.description),
                risk: entry.tool.risk(),
                example_call: entry
                    .example_arguments()
                    .map(|params| json!({"name": entry.tool.name.dotted(), "params": params})),
                explain: hit.explain,
            })
        });
        Ok(Found {
            query: query.to_owned(),
            outcome: if no_match.is_some() { "no_match" } else { "ok" },
            reason: no_match.map(toolcrib_search::Reason::as_str),
            degraded: indexed.degraded().is_some(),
            engine: if indexed.search.model().is_some() { HYBRID } else { KEYWORD },
            results: results.collect(),
            nearest: nearest.iter().map(QualifiedName::dotted).collect(),
            withheld,
        })
    }

    /// One tool in full, by any spelling of its name.
    pub fn describe(&self, name: &str, principal: Principal<'_>) -> Result<ToolCard, ToolError> {
        let snapshot = self.index.snapshot()?;
        let overloads = snapshot
            .find(name, |entry| self.policy.is_visible(&entry.tool, principal))
            .map_err(|error| ToolError::from(&error))?;
        let unknown = || ToolError::new(ErrorKind::UnknownTool, format!("there is no tool `{name}`"));
        ToolCard::new(&overloads, &snapshot, &self.policy, principal).ok_or_else(unknown)
    }

    /// Every namespace with a tool that may be seen, by name.
    pub fn categories(&self, principal: Principal<'_>) -> Result<Vec<Category>, ToolError> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for name in self.names(&*self.index.snapshot()?, principal) {
            *counts.entry(name.namespace().to_owned()).or_default() += 1;
        }
        let category = |(category, tools)| {
            let description = self.descriptions.get(&category).cloned().unwrap_or_default();
            Category { category, description, tools }
        };
        Ok(counts.into_iter().map(category).collect())
    }

    /// One page of a category; pages count from 1.
    pub fn browse(
        &self,
        category: &str,
        page: usize,
        page_size: usize,
        principal: Principal<'_>,
    ) -> Result<Page, ToolError> {
        let snapshot = self.index.snapshot()?;
        let names: Vec<_> =
            self.names(&snapshot, principal).filter(|name| name.namespace() == category).collect();
        if names.is_empty() {
            let known: Vec<_> =
                self.categories(principal)?.into_iter().map(|category| category.category).collect();
            let message = format!("there is no category `{category}`");
            let hint = format!("there is: {}", known.join(", "));
            return Err(ToolError::new(ErrorKind::NotFound, message).with_hint(hint));
        }
        let page_size = page_size.clamp(1, MAX_PAGE_SIZE);
        let page = page.max(1);
        let row = |name: &QualifiedName| {
            let entry = self.visible(&snapshot, name, principal)?.first()?;
            let description = listed(&entry.tool.description);
            Some(json!({"name": name.dotted(), "description": description, "risk": entry.tool.risk()}))
        };
        let shown = names.iter().skip((page - 1).saturating_mul(page_size)).take(page_size);
        Ok(Page {
            category: category.to_owned(),
            page,
            pages: names.len().div_ceil(page_size),
            total: names.len(),
            tools: shown.filter_map(|name| row(name)).collect(),
        })
    }

    fn visible<'a>(
        &self,
        snapshot: &'a Snapshot,
        name: &QualifiedName,
        principal: Principal<'_>,
    ) -> Option<Overloads<'a>> {
        snapshot.get(name)?.visible(|entry: &Entry| self.policy.is_visible(&entry.tool, principal))
    }

    /// The names that may be seen, without the runtime's own.
    fn names<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        principal: Principal<'a>,
    ) -> impl Iterator<Item = &'a QualifiedName> {
        snapshot.tool_names().filter(move |name| {
            name.namespace() != RUNTIME_NAMESPACE && self.visible(snapshot, name, principal).is_some()
        })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

fn listed(description: &str) -> String {
    match description.char_indices().nth(MAX_LISTED_DESCRIPTION) {
        Some((end, _)) => format!("{}…", description.get(..end).unwrap_or_default()),
        None => description.to_owned(),
    }
}
