//! The section with the tools and their ranking by a search.

use maud::{Markup, html};
use toolcrib_meta::FoundTool;
use toolcrib_policy::{OverrideTarget, Principal};

use super::super::html::{text, text_to};
use super::{PageView, table};

/// The maximum number of tools that are listed without a search.
const MAX_LISTED: usize = 100;

/// The maximum number of search results.
const MAX_FOUND: usize = 20;

/// The maximum length of a title, in characters.
const TITLE_CHARS: usize = 100;

/// The maximum length of a shown description, in characters.
const DESCRIPTION_CHARS: usize = 200;

/// The maximum length of a shown query, in characters.
const QUERY_CHARS: usize = 200;

impl PageView<'_> {
    pub(super) fn tools(&self) -> Markup {
        html! {
            section id="tools" {
                h2 { "Tools" }
                form method="get" action="/" {
                    label { "Search " input name="q" maxlength="200" value=(text_to(self.query, QUERY_CHARS)); }
                    " " button { "Search" }
                }
                @if self.query.trim().is_empty() { (self.listed()) } @else { (self.found()) }
            }
        }
    }

    fn listed(&self) -> Markup {
        let snapshot = self.runtime.snapshot();
        let (mut all, others): (Vec<_>, Vec<_>) =
            snapshot.iter().filter(|entry| self.sees(entry)).partition(|entry| !entry.tool.traits().unlisted);
        let beyond = all.len().saturating_sub(MAX_LISTED) + others.len();
        all.truncate(MAX_LISTED);
        let rows = html! {
            @for entry in all {
                tr {
                    td {
                        (text(&entry.tool.name.dotted()))
                        @if let Some(title) = entry.tool.title() { br; small { (text_to(title, TITLE_CHARS)) } }
                    }
                    td { (entry.tool.traits().risk.as_str()) }
                    td { (text_to(&entry.tool.description, DESCRIPTION_CHARS)) }
                    td { (self.disabling(&OverrideTarget::Tool(entry.tool.name.dotted()))) }
                }
            }
        };
        html! {
            (table(&["Tool", "Risk", "What it does", ""], &rows))
            @if beyond > 0 { p { "and " (beyond) " more, which a search finds" } }
        }
    }

    /// Renders the search results with explanations, like `toolcrib search --explain`.
    fn found(&self) -> Markup {
        let session = self.session();
        let found = self.runtime.discovery().search(self.query, MAX_FOUND, Principal::new(&session));
        let found = match found {
            Ok(found) => found,
            Err(error) => return html! { p class="bad" { (text(&error.to_string())) } },
        };
        let rows = html! {
            @for (rank, tool) in (1..).zip(&found.results) {
                tr {
                    td class="number" { (rank) }
                    td { (text(&tool.name)) }
                    td { (tool.risk.as_str()) }
                    td { (text_to(&tool.description, DESCRIPTION_CHARS)) }
                    td { (explain(tool)) }
                }
            }
        };
        html! {
            @if let Some(reason) = found.reason {
                p class="none" { "No match (" (text(reason)) "). " (text(found.hint.as_deref().unwrap_or_default())) }
            }
            @if !found.nearest.is_empty() { p { "Nearest: " (text(&found.nearest.join(", "))) } }
            @if !found.results.is_empty() {
                (table(&["", "Tool", "Risk", "What it does", "Why it was found"], &rows))
            }
        }
    }
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
