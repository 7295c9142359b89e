//! The section with the latest calls.

use super::super::html::Html;
use super::{PageView, cell, end_table, session, table};

/// The maximum number of calls that are shown.
const MAX_SHOWN: usize = 50;

impl PageView<'_> {
    pub(super) fn calls(&self, html: &mut Html) {
        let all = self.page.calls.latest();
        html.markup("<section id=\"calls\">\n<h2>Last calls</h2>\n");
        table(html, &["Time (UTC)", "Tool", "Decision", "Outcome", "Took", "Session"]);
        for call in all.iter().filter(|call| self.may_see(&call.session)).take(MAX_SHOWN) {
            html.markup("<tr>");
            cell(html, &call.time);
            cell(html, &call.tool);
            html.markup("<td>").text(call.decision);
            if let Some(rule) = &call.rule {
                html.markup(" <span class=\"dim\">").text(rule).markup("</span>");
            }
            html.markup("</td>");
            html.markup(if call.outcome == "ok" { "<td class=\"ok\">" } else { "<td class=\"bad\">" });
            html.text(call.outcome).markup("</td><td class=\"number\">");
            html.show(format_args!("{:.0}", call.total_ms)).markup(" ms");
            if let Some(waited) = call.waited_ms {
                html.markup(" <span class=\"dim\">").show(format_args!("{waited:.0}"));
                html.markup(" of them for an answer</span>");
            }
            html.markup("</td><td>").text(&session(&call.session));
            if let Some(agent) = &call.agent {
                html.markup(" · ").text(agent);
            }
            html.markup("</td></tr>\n");
        }
        end_table(html);
        html.markup("</section>\n");
    }
}
