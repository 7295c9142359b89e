//! The page of one tool with its schema and a form that calls it, and the result of such a call.

use maud::{Markup, html};
use toolcrib_policy::Principal;
use toolcrib_registry::Entry;

use super::super::Viewer;
use super::super::html::{text, text_to};
use super::super::schema_form::SchemaForm;
use super::super::trials::TrialState;
use super::overview::milliseconds;
use super::tools::risk;
use super::{ConsoleView, link};

/// The maximum length of a name in a request, in characters.
const MAX_NAME_CHARS: usize = 400;

/// The maximum length of a shown description, in characters.
const DESCRIPTION_CHARS: usize = 4_000;

/// The maximum length of a shown schema, in characters.
const MAX_SCHEMA_CHARS: usize = 50_000;

/// The maximum number of overloads that are shown.
const MAX_OVERLOADS: usize = 20;

impl ConsoleView<'_> {
    pub(super) fn tool(&self) -> Markup {
        let name = self.field("name", MAX_NAME_CHARS);
        let snapshot = self.runtime.snapshot();
        let Ok(overloads) = snapshot.find(&name, self.visibility()) else {
            return html! { p class="none" { "There is no tool " b { (text(&name)) } ". " a href="/tools" { "All tools" } } };
        };
        html! {
            @for entry in overloads.iter().take(MAX_OVERLOADS) {
                section class="overload" {
                    (self.description(entry))
                    (self.trial_form(entry))
                    h2 { "Schema" }
                    (schema(&entry.tool.parameters.to_value()))
                    @if entry.tool.output_parameters.as_object().is_some_and(|schema| !schema.is_empty()) {
                        h2 { "Schema of the result" }
                        (schema(&entry.tool.output_parameters.to_value()))
                    }
                }
            }
        }
    }

    fn description(&self, entry: &Entry) -> Markup {
        let (tool, dotted) = (&entry.tool, entry.tool.name.dotted());
        let traits = tool.traits();
        let session = self.session();
        let decision = self.runtime.executor().policy().decide(tool, Principal::new(&session));
        html! {
            p class="lead" {
                b { (text(&dotted)) } " " (risk(traits.risk.as_str()))
                @if let Some(title) = tool.title() { " " (text(title)) }
            }
            p { (text_to(&tool.description, DESCRIPTION_CHARS)) }
            p class="dim" {
                "Source " (text(&entry.source)) ". "
                @if !traits.side_effects.is_empty() { "It changes: " (text(&traits.side_effects.join(", "))) ". " }
                @if traits.idempotent { "It may be repeated. " }
                @if traits.deprecated { "It is deprecated. " }
            }
            p {
                "The policy: " b { (decision.effect.as_str()) } ", by " code { (text(&decision.rule)) } ". "
                a href=(link("/policy", &[("tool", &dotted)])) { "Why" } " · "
                a href=(link("/calls", &[("tool", &dotted)])) { "Its calls" }
            }
        }
    }

    /// Renders the form with which the operator calls a tool.
    fn trial_form(&self, entry: &Entry) -> Markup {
        html! {
            @if *self.viewer == Viewer::Operator {
                h2 { "Try it" }
                p class="dim" { "The call passes the gate like any other: the policy decides, and it may wait for your approval." }
                form class="try" method="post" action="/try" {
                    (self.seal(&trial_of(&entry.tool.name.to_string(), &entry.fingerprint.to_string())))
                    input type="hidden" name="tool" value=(entry.tool.name);
                    input type="hidden" name="fingerprint" value=(entry.fingerprint);
                    (SchemaForm::new(&entry.tool.parameters).inputs())
                    button { "Call" }
                }
            }
        }
    }

    /// Renders a call that the operator has made, and its result.
    pub(super) fn trial(&self) -> Markup {
        let number = self.fields.get("id").and_then(|id| id.parse().ok()).unwrap_or_default();
        let trial = self.console.trials.get(number).filter(|_| *self.viewer == Viewer::Operator);
        let Some(trial) = trial else {
            return html! { p class="none" { "There is no such call. " a href="/tools" { "All tools" } } };
        };
        html! {
            section id="trial" data-live="" {
                p class="lead" {
                    a href=(link("/tool", &[("name", &trial.tool)])) { (text(&trial.tool)) } " "
                    @match &trial.state {
                        TrialState::Running => span class="held" { "runs, or waits for an approval" },
                        TrialState::Ended { is_ok: true, took, .. } => { span class="ok" { "ok" } " in " (milliseconds(*took)) },
                        TrialState::Ended { took, .. } => { span class="bad" { "failed" } " after " (milliseconds(*took)) },
                    }
                }
                @match &trial.state {
                    TrialState::Running => p { a href="/#approvals" { "The calls that wait" } },
                    TrialState::Ended { text: json, is_cut, .. } => {
                        pre tabindex="0" { (text_to(json, usize::MAX)) }
                        @if *is_cut { p class="dim" { "The result is longer than what is shown." } }
                    }
                }
                p { a href=(link("/calls", &[("tool", &trial.tool)])) { "The calls of this tool" } }
            }
        }
    }
}

/// Returns the text that the seal of the form of a tool protects.
pub(crate) fn trial_of(tool: &str, fingerprint: &str) -> String {
    format!("try/{tool}/{fingerprint}")
}

fn schema(schema: &serde_json::Value) -> Markup {
    let json = serde_json::to_string_pretty(schema).unwrap_or_default();
    html! { pre tabindex="0" { (text_to(&json, MAX_SCHEMA_CHARS)) } }
}
