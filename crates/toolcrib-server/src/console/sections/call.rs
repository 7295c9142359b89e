//! The page of one call: its timeline, and a dry run of it.

use std::time::Duration;

use maud::{Markup, html};
use serde_json::Value;
use toolcrib_app::sections::capabilities;
use toolcrib_exec::DryRun;
use toolcrib_policy::Effect;

use super::super::charts::segments;
use super::super::history::PastCall;
use super::super::html::{text, text_to};
use super::calls::class;
use super::overview::milliseconds;
use super::{ConsoleView, link, session};

/// The text that the seal of the form of a dry run protects.
pub(crate) const REPLAY_FORM: &str = "replay";

/// The maximum length of recorded arguments in the form of a dry run, in characters.
const MAX_ARGUMENTS_CHARS: usize = 8_000;

impl ConsoleView<'_> {
    pub(super) fn call(&self) -> Markup {
        let number = self.fields.get("id").and_then(|id| id.parse().ok()).unwrap_or_default();
        let call = self.console.history.get(number).filter(|call| self.viewer.may_see(call.session()));
        let Some(call) = call else {
            return html! { p class="none" { "There is no such call among the latest ones. " a href="/calls" { "All calls" } } };
        };
        let tool = call.tool();
        html! {
            p class="lead" {
                a href=(link("/tool", &[("name", &tool)])) { (text(&tool)) } " "
                span class=(class(call.class())) { (call.record.outcome.as_str()) }
                " in " (took(call.record.total_ms)) " "
                span class="dim" { "call " (call.number) " of this process" }
            }
            (times(&call))
            (timeline(&call, self.sees_all()))
            @if self.sees_all() { (self.replay(&call)) }
        }
    }

    /// Renders the form of a dry run, and the outcome of the last one.
    fn replay(&self, call: &PastCall) -> Markup {
        let recorded = call.record.arguments.as_ref();
        let recorded = recorded.and_then(|arguments| serde_json::to_string_pretty(arguments).ok());
        let sent = self.fields.get("arguments").map(str::to_owned);
        let arguments = sent.or_else(|| recorded.clone()).unwrap_or_else(|| "{}".to_owned());
        html! {
            section id="replay" {
                h2 { "Dry run" }
                p {
                    "Resolves the tool, validates the arguments, and asks the policy, all as of now and for the session of this \
                     call. Nothing runs, and nobody is asked."
                }
                @if recorded.is_none() {
                    p class="dim" { "The audit log of this app has no arguments, so enter those that the call should have." }
                }
                form method="post" action="/replay" {
                    (self.seal(REPLAY_FORM))
                    input type="hidden" name="id" value=(call.number);
                    label {
                        "Arguments as JSON "
                        textarea name="arguments" rows="6" maxlength=(MAX_ARGUMENTS_CHARS) { "\n" (text_to(&arguments, MAX_ARGUMENTS_CHARS)) }
                    }
                    button { "Dry run" }
                }
                @match &self.dry_run {
                    None => {},
                    Some(Err(problem)) => p class="told bad" role="status" { (text(problem)) },
                    Some(Ok(run)) => (dry_run(run)),
                }
            }
        }
    }
}

/// Renders the outcome of a dry run.
pub(super) fn dry_run(run: &DryRun) -> Markup {
    let effect = run.decision.as_ref().map(|decision| decision.effect);
    html! {
        div class="told" role="status" {
            p {
                @match (&run.error, effect) {
                    (Some(error), _) => { b class="bad" { "It would fail: " } (text(&error.message)) },
                    (None, Some(Effect::Approve)) => b class="held" { "It would wait for an approval." },
                    (None, _) => b class="ok" { "It would run." },
                }
            }
            @if let Some(decision) = &run.decision {
                p { "Decided by " code { (text(&decision.rule)) } ": " (capabilities::reason(decision)) "." }
            }
            @if let Some(hint) = run.error.as_ref().and_then(|error| error.hint.as_deref()) { p { (text(hint)) } }
            @if !run.repairs.is_empty() {
                p { "Repairs of the arguments:" }
                ul {
                    @for repair in &run.repairs {
                        @let change = serde_json::to_value(repair.change).unwrap_or_default();
                        li { code { (text(&repair.path)) } " " (text(change.as_str().unwrap_or_default())) }
                    }
                }
            }
            @if let Some(arguments) = &run.arguments {
                @let json = serde_json::to_string_pretty(arguments).unwrap_or_default();
                p { "Final arguments:" }
                pre tabindex="0" { (text_to(&json, MAX_ARGUMENTS_CHARS)) }
            }
            @for (place, (tool, arguments)) in run.originals.iter().enumerate() {
                @let json = serde_json::to_string_pretty(arguments).unwrap_or_default();
                p {
                    @if place == 0 { "A shape of " } @else { "If that is unavailable, a shape of " }
                    code { (text(&tool.name.dotted())) } ", which gets:"
                }
                pre tabindex="0" { (text_to(&json, MAX_ARGUMENTS_CHARS)) }
            }
        }
    }
}

/// Renders how the time of a call was spent.
fn times(call: &PastCall) -> Markup {
    let record = &call.record;
    let parts = [
        ("held", "waited for an answer", record.waited_ms),
        ("queued", "queued", record.queued_ms),
        ("ran", "ran", record.ran_ms),
    ];
    let known: f64 = parts.iter().filter_map(|(_, _, ms)| *ms).sum();
    let rest = ("rest", "everything else", Some((record.total_ms - known).max(0.0)));
    let parts: Vec<_> =
        parts.into_iter().chain([rest]).filter_map(|(class, name, ms)| Some((class, name, ms?))).collect();
    let words: Vec<String> = parts.iter().map(|(_, name, ms)| format!("{name} {}", took(*ms))).collect();
    let sizes: Vec<_> = parts.iter().map(|(class, _, ms)| (*class, *ms)).collect();
    html! {
        figure class="wide" {
            (segments(&format!("Time of the call: {}", words.join(", ")), &sizes))
            figcaption { @for ((class, _, _), words) in parts.iter().zip(&words) { span class=(format!("key {class}")) { (words) } " " } }
        }
    }
}

/// Renders what happened to a call. The values of its arguments are for those who approve calls.
fn timeline(call: &PastCall, has_arguments: bool) -> Markup {
    let record = &call.record;
    let step = |name: &str, content: Markup| html! { dt { (name) } dd { (content) } };
    html! {
        dl class="timeline" {
            (step("Arrived", html! {
                (text(&record.time)) ", session " (text(&session(&record.session)))
                @if let Some(user) = &record.user { ", for " (text(user)) }
                @if let Some(agent) = &record.agent { ", agent " (text(agent)) }
                @if !record.on_behalf_of.is_empty() { ", on behalf of " (text(&record.on_behalf_of.join(", "))) }
                @if record.depth > 0 { ", " (record.depth) " calls deep" }
            }))
            (step("Tool", html! {
                @match &record.tool {
                    Some(tool) => { (text(tool)) @if let Some(source) = &record.source { ", source " (text(source)) } },
                    None => "no tool has this name",
                }
                @if let Some(original) = &record.original { ", a shape of " (text(original)) }
                @if let Some(generation) = record.generation { ", generation " (generation) }
            }))
            (step("Validation", html! {
                @match record.repairs { 0 => "no repairs", 1 => "1 repair", count => { (count) " repairs" } }
                @if !record.arguments_shape.is_null() { ", arguments " code { (text(&record.arguments_shape.to_string())) } }
            }))
            (step("Gate", html! {
                (call.decision())
                @if let Some(rule) = &record.rule { ", by " code { (text(rule)) } }
                @if !record.approved_by.is_empty() { ", approved by " (text(&record.approved_by.join(", "))) }
            }))
            @if !record.hooks.is_empty() {
                (step("Hooks", html! { @for hook in &record.hooks { (text(&hook.hook)) ": " (hook.verdict) " " } }))
            }
            @if let Some(waited) = record.waited_ms { (step("Approval", html! { "waited " (took(waited)) })) }
            @if let Some(queued) = record.queued_ms { (step("Queue", html! { "waited " (took(queued)) })) }
            (step("Run", html! { @match record.ran_ms { Some(ran) => (took(ran)), None => "it did not run" } }))
            (step("Result", html! {
                span class=(class(call.class())) { (record.outcome.as_str()) }
                @if let Some(bytes) = record.result_bytes { ", " (bytes) " bytes" }
                @if let Some(saved) = record.saved_tokens { ", " (saved) " tokens saved" }
                @if record.retryable == Some(true) { ", may succeed if it is repeated" }
            }))
            @if let Some(trace) = &record.trace { (step("Trace", html! { code { (text(trace)) } })) }
            @if let Some(arguments) = record.arguments.as_ref().filter(|arguments| has_arguments && !arguments.is_null()) {
                (step("Arguments", recorded_arguments(arguments)))
            }
            @if let Some(arguments) = record.original_arguments.as_ref().filter(|arguments| has_arguments && !arguments.is_null()) {
                (step("Arguments of the original", recorded_arguments(arguments)))
            }
        }
    }
}

fn recorded_arguments(arguments: &Value) -> Markup {
    let json = serde_json::to_string_pretty(arguments).unwrap_or_default();
    html! { pre tabindex="0" { (text_to(&json, MAX_ARGUMENTS_CHARS)) } }
}

fn took(ms: f64) -> String {
    Duration::try_from_secs_f64(ms / 1_000.0).map_or_else(|_| format!("{ms:.0} ms"), milliseconds)
}
