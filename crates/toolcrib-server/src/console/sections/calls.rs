//! The page with the latest calls.

use maud::{Markup, html};

use super::super::history::{OutcomeClass, PastCall};
use super::super::html::{text, text_to};
use super::{ConsoleView, Slice, link, session, table};

/// The number of calls on a page.
const PAGE_SIZE: usize = 50;

/// The maximum length of a filter, in characters.
const MAX_FILTER_CHARS: usize = 200;

/// The filters of the list.
struct CallFilter {
    tool: String,
    outcome: String,
    /// A text in the tool, the session, the agent, the rule, the outcome, or the trace, regardless of case.
    words: String,
}

impl CallFilter {
    fn matches(&self, call: &PastCall) -> bool {
        let record = &call.record;
        if !self.tool.is_empty() && call.tool() != self.tool {
            return false;
        }
        if !self.outcome.is_empty()
            && ![call.class().as_str(), record.outcome.as_str()].contains(&self.outcome.as_str())
        {
            return false;
        }
        if self.words.is_empty() {
            return true;
        }
        let tool = call.tool();
        // The secret of a session is not shown, so it is not found either.
        let session = session(&record.session);
        let optional = [&record.agent, &record.rule, &record.trace, &record.user, &record.source];
        let texts = optional.into_iter().flatten().map(String::as_str);
        let mut texts =
            texts.chain([tool.as_str(), session.as_str(), record.outcome.as_str(), call.decision()]);
        texts.any(|text| text.to_lowercase().contains(&self.words))
    }
}

impl ConsoleView<'_> {
    pub(super) fn calls(&self) -> Markup {
        let field = |name| self.field(name, MAX_FILTER_CHARS);
        let filter =
            CallFilter { tool: field("tool"), outcome: field("outcome"), words: field("q").to_lowercase() };
        let all = self.console.history.latest();
        let visible =
            all.iter().map(AsRef::as_ref).filter(|call: &&PastCall| self.viewer.may_see(call.session()));
        let visible: Vec<&PastCall> = visible.collect();
        let found: Vec<&PastCall> = visible.iter().copied().filter(|call| filter.matches(call)).collect();
        let slice = Slice::new(&field("page"), found.len(), PAGE_SIZE);
        let rows = html! {
            @for call in found.iter().skip(slice.skipped).take(PAGE_SIZE) { (row(call)) }
        };
        let q = field("q");
        let filters = [("q", q.as_str()), ("tool", &filter.tool), ("outcome", &filter.outcome)];
        html! {
            form class="filter" method="get" action="/calls" role="search" {
                label { "Text " input type="search" name="q" maxlength="200" value=(text(&q)); }
                label { "Tool " input name="tool" maxlength="200" value=(text(&filter.tool)) placeholder="namespace.name"; }
                label {
                    "Outcome "
                    select name="outcome" {
                        option value="" { "any" }
                        @for class in OutcomeClass::ALL {
                            option value=(class.as_str()) selected[filter.outcome == class.as_str()] { (class.as_str()) }
                        }
                        @if !filter.outcome.is_empty() && OutcomeClass::ALL.iter().all(|class| class.as_str() != filter.outcome) {
                            option value=(text(&filter.outcome)) selected { (text(&filter.outcome)) }
                        }
                    }
                }
                button { "Filter" }
            }
            section id="calls" data-live="" {
                p class="dim" { (found.len()) " of the latest " (visible.len()) " calls of this process, the last one first." }
                (table("Calls", &["Time (UTC)", "Tool", "Decision", "Outcome", "Took", "Session"], &rows))
                (slice.links("/calls", &filters))
            }
        }
    }
}

fn row(call: &PastCall) -> Markup {
    let (record, number) = (&call.record, call.number.to_string());
    html! {
        tr {
            td data-label="Time" { a href=(link("/call", &[("id", &number)])) { (text(&record.time)) } }
            td data-label="Tool" { (text(&call.tool())) }
            td data-label="Decision" {
                (call.decision())
                @if let Some(rule) = &record.rule { " " span class="dim" { (text(rule)) } }
            }
            td data-label="Outcome" class=(class(call.class())) { (record.outcome.as_str()) }
            td data-label="Took" class="number" {
                (format!("{:.0} ms", record.total_ms))
                @if let Some(waited) = record.waited_ms {
                    " " span class="dim" { (format!("{waited:.0} of them for an answer")) }
                }
            }
            td data-label="Session" {
                (text_to(&session(&record.session), MAX_FILTER_CHARS))
                @if let Some(agent) = &record.agent { " · " (text(agent)) }
            }
        }
    }
}

/// Returns the class of the color of an outcome.
pub(super) fn class(class: OutcomeClass) -> &'static str {
    match class {
        OutcomeClass::Ok => "ok",
        OutcomeClass::Denied => "held",
        OutcomeClass::Failed => "bad",
    }
}
