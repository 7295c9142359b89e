//! The section with the latest calls.

use maud::{Markup, html};

use super::super::html::text;
use super::{PageView, session, table};

/// The maximum number of calls that are shown.
const MAX_SHOWN: usize = 50;

impl PageView<'_> {
    pub(super) fn calls(&self) -> Markup {
        let all = self.page.calls.latest();
        let shown = all.iter().filter(|call| self.may_see(&call.session)).take(MAX_SHOWN);
        let rows = html! {
            @for call in shown {
                tr {
                    td { (text(&call.time)) }
                    td { (text(&call.tool)) }
                    td {
                        (text(call.decision))
                        @if let Some(rule) = &call.rule { " " span class="dim" { (text(rule)) } }
                    }
                    td class=(if call.outcome == "ok" { "ok" } else { "bad" }) { (text(call.outcome)) }
                    td class="number" {
                        (format!("{:.0} ms", call.total_ms))
                        @if let Some(waited) = call.waited_ms {
                            " " span class="dim" { (format!("{waited:.0} of them for an answer")) }
                        }
                    }
                    td {
                        (text(&session(&call.session)))
                        @if let Some(agent) = &call.agent { " · " (text(agent)) }
                    }
                }
            }
        };
        html! {
            section id="calls" {
                h2 { "Last calls" }
                (table(&["Time (UTC)", "Tool", "Decision", "Outcome", "Took", "Session"], &rows))
            }
        }
    }
}
