//! The page with the sessions that have made calls.

use std::collections::HashMap;
use std::sync::Arc;

use maud::{Markup, html};

use super::super::history::{OutcomeClass, PastCall};
use super::super::html::text;
use super::{ConsoleView, Slice, link, session, table};

/// The number of sessions on a page.
const PAGE_SIZE: usize = 100;

struct SessionSummary<'a> {
    last: &'a PastCall,
    calls: usize,
    not_ok: usize,
}

impl ConsoleView<'_> {
    pub(super) fn sessions(&self) -> Markup {
        let all = self.console.history.latest();
        let sessions = summaries(all.iter().filter(|call| self.viewer.may_see(call.session())));
        let slice = Slice::new(self.fields.get("page").unwrap_or_default(), sessions.len(), PAGE_SIZE);
        let rows = html! {
            @for summary in sessions.iter().skip(slice.skipped).take(PAGE_SIZE) {
                @let record = &summary.last.record;
                @let name = session(&record.session);
                tr {
                    td data-label="Session" { a href=(link("/calls", &[("q", &name)])) { (text(&name)) } }
                    td data-label="User" { (text(record.user.as_deref().unwrap_or("—"))) }
                    td data-label="Agent" { (text(record.agent.as_deref().unwrap_or("—"))) }
                    td data-label="Calls" class="number" { (summary.calls) }
                    td data-label="Not ok" class="number" { (summary.not_ok) }
                    td data-label="Last call (UTC)" { (text(&record.time)) " " span class="dim" { (text(&summary.last.tool())) } }
                }
            }
        };
        html! {
            section id="sessions-list" data-live="" {
                p class="dim" { "The sessions of the latest calls. " (sessions.len()) " in all." }
                (table("Sessions", &["Session", "User", "Agent", "Calls", "Not ok", "Last call (UTC)"], &rows))
                (slice.links("/sessions", &[]))
            }
        }
    }
}

/// Returns the sessions of calls, in the order of the calls.
fn summaries<'a>(calls: impl Iterator<Item = &'a Arc<PastCall>>) -> Vec<SessionSummary<'a>> {
    let (mut places, mut sessions): (HashMap<&str, usize>, Vec<SessionSummary<'_>>) = Default::default();
    for call in calls {
        let place = *places.entry(call.session()).or_insert_with(|| {
            sessions.push(SessionSummary { last: call, calls: 0, not_ok: 0 });
            sessions.len() - 1
        });
        if let Some(summary) = sessions.get_mut(place) {
            summary.calls += 1;
            summary.not_ok += usize::from(call.class() != OutcomeClass::Ok);
        }
    }
    sessions
}
