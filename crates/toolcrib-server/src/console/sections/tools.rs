//! The page with the tools and their ranking by a search.

use maud::{Markup, html};
use toolcrib_meta::FoundTool;
use toolcrib_policy::{OverrideTarget, Principal};

use super::super::html::{text, text_to};
use super::{ConsoleView, Slice, link, table};

/// The number of tools on a page.
const PAGE_SIZE: usize = 100;

/// The maximum number of search results.
const MAX_FOUND: usize = 20;

/// The maximum length of a title, in characters.
const TITLE_CHARS: usize = 100;

/// The maximum length of a shown description, in characters.
const DESCRIPTION_CHARS: usize = 200;

/// The maximum length of a query, in characters.
const MAX_QUERY_CHARS: usize = 1_000;

/// The maximum length of a shown query, in characters.
const QUERY_CHARS: usize = 200;

impl ConsoleView<'_> {
    pub(super) fn tools(&self) -> Markup {
        let query = self.field("q", MAX_QUERY_CHARS);
        html! {
            form class="filter" method="get" action="/tools" role="search" {
                label { "Search " input type="search" name="q" maxlength="200" value=(text_to(&query, QUERY_CHARS)); }
                button { "Search" }
            }
            section id="tools" {
                @if query.is_empty() { (self.listed()) } @else { (self.found(&query)) }
            }
        }
    }

    fn listed(&self) -> Markup {
        let (snapshot, is_visible) = (self.runtime.snapshot(), self.visibility());
        let (all, others): (Vec<_>, Vec<_>) = snapshot
            .iter()
            .filter(|entry| is_visible(entry))
            .partition(|entry| !entry.tool.traits().unlisted);
        let slice = Slice::new(&self.field("page", QUERY_CHARS), all.len(), PAGE_SIZE);
        let rows = html! {
            @for entry in all.iter().skip(slice.skipped).take(PAGE_SIZE) {
                tr {
                    td data-label="Tool" {
                        (name(&entry.tool.name.dotted()))
                        @if let Some(title) = entry.tool.title() { br; small { (text_to(title, TITLE_CHARS)) } }
                    }
                    td data-label="Risk" { (risk(entry.tool.traits().risk.as_str())) }
                    td data-label="What it does" { (text_to(&entry.tool.description, DESCRIPTION_CHARS)) }
                    td data-label="Source" class="dim" { (text(&entry.source)) }
                    td { (self.disabling(&OverrideTarget::Tool(entry.tool.name.dotted()))) }
                }
            }
        };
        html! {
            p class="dim" {
                (all.len()) " tools."
                @if !others.is_empty() { " A search finds " (others.len()) " more." }
            }
            (table("Tools", &["Tool", "Risk", "What it does", "Source", "Change"], &rows))
            (slice.links("/tools", &[]))
        }
    }

    /// Renders the search results with explanations, like `toolcrib search --explain`.
    fn found(&self, query: &str) -> Markup {
        let session = self.session();
        let found = self.runtime.discovery().search(query, MAX_FOUND, Principal::new(&session));
        let found = match found {
            Ok(found) => found,
            Err(error) => return html! { p class="bad" { (text(&error.to_string())) } },
        };
        let rows = html! {
            @for (rank, tool) in (1..).zip(&found.results) {
                tr {
                    td data-label="Rank" class="number" { (rank) }
                    td data-label="Tool" { (name(&tool.name)) }
                    td data-label="Risk" { (risk(tool.risk.as_str())) }
                    td data-label="What it does" { (text_to(&tool.description, DESCRIPTION_CHARS)) }
                    td data-label="Why it was found" { (explain(tool)) }
                }
            }
        };
        html! {
            @if let Some(reason) = found.reason {
                p class="none" { "No match (" (text(reason)) "). " (text(found.hint.as_deref().unwrap_or_default())) }
            }
            @if !found.nearest.is_empty() { p { "Nearest: " (text(&found.nearest.join(", "))) } }
            @if !found.results.is_empty() {
                (table("Search results", &["Rank", "Tool", "Risk", "What it does", "Why it was found"], &rows))
            }
        }
    }
}

/// Renders the name of a tool, which leads to its page.
fn name(dotted: &str) -> Markup {
    html! { a href=(link("/tool", &[("name", dotted)])) { (text(dotted)) } }
}

/// Renders the risk of a tool.
pub(super) fn risk(risk: &str) -> Markup {
    html! { span class=(format!("risk {risk}")) { (risk) } }
}

/// Renders the reasons why a tool was found, a line for each retriever.
fn explain(tool: &FoundTool) -> Markup {
    let explain = &tool.explain;
    let fields: Vec<String> = explain.fields.iter().map(ToString::to_string).collect();
    html! {
        @if explain.exact { div { "the query names it" } }
        @for (arm, place) in [("keyword: ", explain.keyword), ("meaning: ", explain.meaning)] {
            div {
                (arm)
                @match place {
                    None => "not found",
                    Some(place) => {
                        @match place.rank { Some(rank) => { "rank " (rank) }, None => "not among the best", }
                        (format!(", score {:.3}, counts {:.3} × {:.2}", place.score, place.share, place.weight))
                    }
                }
            }
        }
        div { (format!("together: {:.3}", explain.fused)) }
        @if !explain.terms.is_empty() {
            div { "words: " (text(&explain.terms.join(", "))) " in " (text(&fields.join(", "))) }
        }
    }
}
