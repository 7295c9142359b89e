//! The page that explains decisions of the policy.

use maud::{Markup, html};
use toolcrib_app::sections::capabilities;
use toolcrib_model::JsonObject;
use toolcrib_policy::{Effect, Principal};
use toolcrib_registry::Entry;

use super::super::html::{text, text_to};
use super::tools::risk;
use super::{ConsoleView, table};

/// The maximum length of a field of the form, in characters.
const MAX_FIELD_CHARS: usize = 400;

/// The maximum length of the arguments, in characters.
const MAX_ARGUMENTS_CHARS: usize = 4_000;

/// The maximum number of overloads that are shown.
const MAX_OVERLOADS: usize = 20;

/// The maximum number of rules that are shown.
const MAX_RULES: usize = 200;

impl ConsoleView<'_> {
    pub(super) fn policy(&self) -> Markup {
        let field = |name| self.field(name, MAX_FIELD_CHARS);
        let (tool, arguments) = (field("tool"), self.field("arguments", MAX_ARGUMENTS_CHARS));
        // Others ask for themselves: the rules of other callers are not theirs to know.
        let is_own = !self.sees_all();
        let session = if is_own { String::new() } else { field("session") };
        let agent = if is_own { String::new() } else { field("agent") };
        html! {
            p { "Which rule runs, asks about or denies the calls of a tool, as " code { "toolcrib why" } " says it." }
            form class="filter" method="get" action="/policy" {
                label { "Tool " input name="tool" required maxlength="400" value=(text(&tool)) placeholder="namespace.name"; }
                @if !is_own {
                    label { "Session " input name="session" maxlength="400" value=(text(&session)) placeholder="serve/local/x"; }
                    label { "Agent " input name="agent" maxlength="400" value=(text(&agent)); }
                }
                label class="wide" {
                    "Arguments as JSON, or none for any call "
                    textarea name="arguments" rows="3" maxlength=(MAX_ARGUMENTS_CHARS) { "\n" (text_to(&arguments, MAX_ARGUMENTS_CHARS)) }
                }
                button { "Explain" }
            }
            @if !tool.is_empty() {
                section id="decision" { (self.decisions(&tool, &session, &agent, &arguments)) }
            }
        }
    }

    fn decisions(&self, tool: &str, session: &str, agent: &str, arguments: &str) -> Markup {
        let problem = |message: &str| html! { p class="told bad" role="status" { (text(message)) } };
        let arguments: Option<JsonObject> = match arguments {
            "" => None,
            json => match serde_json::from_str(json) {
                Ok(arguments) => Some(arguments),
                Err(error) => return problem(&format!("The arguments: expected one JSON object, {error}.")),
            },
        };
        let own = self.session();
        let mut principal = Principal::new(if session.is_empty() { &own } else { session });
        if !agent.is_empty() {
            principal = principal.with_agent(agent);
        }
        let snapshot = self.runtime.snapshot();
        let is_visible = self.visibility();
        let Ok(overloads) = snapshot.find(tool, |entry| self.sees_all() || is_visible(entry)) else {
            return problem(&format!("There is no tool {tool}."));
        };
        html! {
            @for entry in overloads.iter().take(MAX_OVERLOADS) { (self.decision(entry, principal, arguments.as_ref())) }
        }
    }

    fn decision(&self, entry: &Entry, principal: Principal<'_>, arguments: Option<&JsonObject>) -> Markup {
        let executor = self.runtime.executor();
        let decision = executor.policy().decide_call(&entry.tool, &entry.source, principal, arguments);
        let matches = executor.policy().matches(&entry.tool, principal, arguments);
        let hooks: Vec<&str> = executor.hooks_of(&entry.tool).collect();
        let class = match decision.effect {
            Effect::Grant => "ok",
            Effect::Approve => "held",
            Effect::Deny => "bad",
        };
        let rows = html! {
            @for one in matches.iter().take(MAX_RULES) {
                tr {
                    td data-label="Effect" { (one.decision.effect.as_str()) }
                    td data-label="Rule" { code { (text(&one.decision.rule)) } }
                    td data-label="Applies" { @if one.is_certain { "to all such calls" } @else { "to some arguments" } }
                }
            }
        };
        html! {
            p class="lead" {
                b { (text(&entry.tool.name.dotted())) } " " (risk(entry.tool.traits().risk.as_str())) ": "
                b class=(class) { (decision.effect.as_str()) }
                @if decision.depends_on_arguments { " unless the arguments change it" }
            }
            p { "Decided by " code { (text(&decision.rule)) } ": " (capabilities::reason(&decision)) "." }
            @if !hooks.is_empty() { p { "Then checked by the hooks: " (text(&hooks.join(", "))) "." } }
            @if self.sees_all() && !matches.is_empty() {
                h2 { "All that matches, in this order" }
                (table("Rules", &["Effect", "Rule", "Applies"], &rows))
            }
        }
    }
}
