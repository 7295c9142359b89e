//! The section with the tools and their ranking by a search.

use toolcrib_meta::FoundTool;
use toolcrib_policy::Principal;

use super::super::html::Html;
use super::{PageView, cell, end_table, table};

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
    pub(super) fn tools(&self, html: &mut Html) {
        html.markup("<section id=\"tools\">\n<h2>Tools</h2>\n<form method=\"get\" action=\"/\"><label>Search <input name=\"q\" maxlength=\"200\" value=\"");
        html.text_to(self.query, QUERY_CHARS).markup("\"></label> <button>Search</button></form>\n");
        if self.query.trim().is_empty() {
            self.listed(html);
        } else {
            self.found(html);
        }
        html.markup("</section>\n");
    }

    fn listed(&self, html: &mut Html) {
        let snapshot = self.runtime.snapshot();
        let (mut all, others): (Vec<_>, Vec<_>) = snapshot
            .iter()
            .filter(|entry| self.sees(entry))
            .partition(|entry| entry.tool.is_user_selectable());
        table(html, &["Tool", "Risk", "What it does"]);
        let beyond = all.len().saturating_sub(MAX_LISTED) + others.len();
        all.truncate(MAX_LISTED);
        for entry in all {
            html.markup("<tr><td>").text(&entry.tool.name.dotted());
            if let Some(title) = entry.tool.title() {
                html.markup("<br><small>").text_to(title, TITLE_CHARS).markup("</small>");
            }
            html.markup("</td>");
            cell(html, entry.tool.risk().as_str());
            html.markup("<td>").text_to(&entry.tool.description, DESCRIPTION_CHARS).markup("</td></tr>\n");
        }
        end_table(html);
        if beyond > 0 {
            html.markup("<p>and ").show(beyond).markup(" more, which a search finds</p>\n");
        }
    }

    /// Adds the search results with explanations, like `toolcrib search --explain`.
    fn found(&self, html: &mut Html) {
        let session = self.session();
        let found = self.runtime.discovery().search(self.query, MAX_FOUND, Principal::new(&session));
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                html.markup("<p class=\"bad\">").text(&error.to_string()).markup("</p>\n");
                return;
            }
        };
        if let Some(reason) = found.reason {
            html.markup("<p class=\"none\">No match (").text(reason).markup("). ");
            html.text(found.hint.as_deref().unwrap_or_default()).markup("</p>\n");
        }
        if !found.nearest.is_empty() {
            html.markup("<p>Nearest: ").text(&found.nearest.join(", ")).markup("</p>\n");
        }
        if found.results.is_empty() {
            return;
        }
        table(html, &["", "Tool", "Risk", "What it does", "Why it was found"]);
        for (rank, tool) in (1..).zip(&found.results) {
            html.markup("<tr><td class=\"number\">").show(rank).markup("</td>");
            cell(html, &tool.name);
            cell(html, tool.risk.as_str());
            html.markup("<td>").text_to(&tool.description, DESCRIPTION_CHARS).markup("</td><td>");
            explain(html, tool);
            html.markup("</td></tr>\n");
        }
        end_table(html);
    }
}

/// Adds the reasons why a tool was found, a line for each retriever.
fn explain(html: &mut Html, tool: &FoundTool) {
    let explain = &tool.explain;
    if explain.exact {
        html.markup("<div>the query names it</div>");
    }
    for (arm, place) in [("keyword: ", explain.keyword), ("meaning: ", explain.meaning)] {
        html.markup("<div>").markup(arm);
        match place {
            None => html.markup("not found"),
            Some(place) => {
                match place.rank {
                    Some(rank) => html.markup("rank ").show(rank),
                    None => html.markup("not among the best"),
                };
                html.text(&format!(
                    ", score {:.3}, counts {:.3} × {:.2}",
                    place.score, place.share, place.weight
                ))
            }
        };
        html.markup("</div>");
    }
    html.markup("<div>together: ").show(format_args!("{:.3}", explain.fused)).markup("</div>");
    if !explain.terms.is_empty() {
        let fields: Vec<String> = explain.fields.iter().map(ToString::to_string).collect();
        html.markup("<div>words: ").text(&explain.terms.join(", ")).markup(" in ").text(&fields.join(", "));
        html.markup("</div>");
    }
}
