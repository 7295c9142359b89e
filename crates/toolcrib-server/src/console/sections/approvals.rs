//! The section with the calls that wait for an approval.

use maud::{Markup, html};

use super::super::html::{text, text_to};
use super::diffs::diffs;
use super::{ConsoleView, heading, session, sign_in_form};
use crate::operator::WaitingCall;

/// The maximum length of arguments with which a call can be allowed on the page, in characters, since they are shown
/// whole.
const MAX_ARGUMENTS_CHARS: usize = 8_000;

/// The text that the seal of a subscription to push messages protects.
pub(crate) const PUSH_FORM: &str = "push";

/// The maximum number of calls that are shown.
const MAX_SHOWN: usize = 50;

impl ConsoleView<'_> {
    pub(super) fn approvals(&self) -> Markup {
        let all = self.console.pending.questions();
        let mine: Vec<_> = all.iter().filter(|question| self.viewer.may_see(&question.session)).collect();
        html! {
            section id="approvals" {
                div id="approvals-head" data-live="" {
                    (heading("Waiting for approval", mine.len()))
                    @if mine.is_empty() { p class="none" { "Nothing waits." } }
                }
                @if self.viewer.approver().is_some() {
                    // The script shows what works with it only.
                    @if self.viewer.approver().is_some_and(|approver| self.console.pending.has_push(approver)) {
                        p class="push" hidden {
                            button id="push" type="button" data-seal=(self.console.sealed(PUSH_FORM)) {
                                "Send push messages to this browser"
                            }
                            " " span id="push-told" role="status" {}
                        }
                    }
                    p class="keys dim" hidden {
                        kbd { "A" } " allows and " kbd { "D" } " denies the call with the focus, " kbd { "J" } " and "
                        kbd { "K" } " move it. " button id="notify" type="button" hidden { "Notify me of new calls" }
                        " " button id="sound" type="button" aria-pressed="false" { "Play a sound for new calls" }
                    }
                } @else {
                    p { "Only the operator answers here. The server printed the key when it started." }
                    (sign_in_form())
                }
                div id="approvals-list" data-live="items" {
                    @for question in mine.iter().take(MAX_SHOWN) { (self.waiting_call(question)) }
                }
            }
        }
    }

    fn waiting_call(&self, question: &WaitingCall) -> Markup {
        let place = self.console.pending.calls().place(question.id);
        html! {
            article id=(format!("call-{place}")) class="waiting" tabindex="0" {
                h3 {
                    (text(&question.tool)) " "
                    span class=(format!("risk {}", question.risk.as_str())) { (question.risk.as_str()) }
                }
                p class="dim" {
                    "Asked by " (text(&question.rule)) ", for " (text(&session(&question.session)))
                    @if let Some(agent) = &question.agent { ", agent " (text(agent)) }
                    ", " (question.waiting_seconds) " s ago."
                    @if !question.side_effects.is_empty() {
                        " It changes: " q { (text(&question.side_effects.join(", "))) } "."
                    }
                }
                (people(question))
                @if let Some(approver) = self.viewer.approver() {
                    @match question.requirement.refusal(approver, &question.approved_by) {
                        Some(refusal) => p { (sentence(refusal.as_str())) },
                        None => (self.answers(question, &place)),
                    }
                }
                // The text of a server comes last, where it cannot pass for the text above it.
                @if !question.description.is_empty() {
                    p class="dim" { "Its description: " q { (text(&question.description)) } }
                }
            }
        }
    }

    /// Renders the arguments of a call and the forms that answer it.
    fn answers(&self, question: &WaitingCall, place: &str) -> Markup {
        html! {
            (arguments(question))
            div class="answers" {
                @if whole_arguments(question).is_some() {
                    form method="post" action="/answer" {
                        (self.sealed_question(place, &answer_to(place)))
                        button class="allow" name="say" value="once" { "Allow this call" }
                        @if question.requirement.is_plain() {
                            " " button name="say" value="tool" {
                                "Allow this tool in this " (if question.script.is_some() { "script" } else { "session" })
                            }
                        }
                    }
                } @else {
                    p { "The arguments are too long to be shown whole, so it cannot be allowed here." }
                }
                // Enter in a field activates the first button of its form, which must not approve.
                form method="post" action="/answer" {
                    (self.sealed_question(place, &answer_to(place)))
                    button class="deny" name="say" value="deny" { "Deny" }
                    " " input name="feedback" maxlength="1000" aria-label="What to tell the model when you deny"
                        placeholder="what to tell the model when you deny";
                }
            }
        }
    }
}

/// Returns the arguments of a call as they are shown, or `None` if they are too long to be shown whole.
pub(crate) fn whole_arguments(question: &WaitingCall) -> Option<String> {
    shown_arguments(question).filter(|text| text.chars().count() <= MAX_ARGUMENTS_CHARS)
}

fn shown_arguments(question: &WaitingCall) -> Option<String> {
    question.arguments.as_ref().map(|arguments| serde_json::to_string_pretty(arguments).unwrap_or_default())
}

/// Renders the arguments of a call.
pub(super) fn arguments(question: &WaitingCall) -> Markup {
    html! {
        @if let Some(arguments) = &question.arguments { (diffs(arguments)) }
        @if let Some(arguments) = shown_arguments(question) {
            pre tabindex="0" { (text_to(&arguments, MAX_ARGUMENTS_CHARS)) }
        }
    }
}

/// Renders the people whose approval a call needs, and those who have approved.
pub(super) fn people(question: &WaitingCall) -> Markup {
    let requirement = &question.requirement;
    let approved: Vec<&str> = question.approved_by.iter().map(String::as_str).collect();
    html! {
        @if !requirement.is_plain() {
            p {
                "It needs the approval of "
                @if requirement.approvers == 1 { "one person" } @else { (requirement.approvers) " people" }
                @if requirement.four_eyes { ", none of whom made the call" }
                "."
                @if !approved.is_empty() { " Approved by: " (text(&approved.join(", "))) "." }
            }
        }
    }
}

/// Returns a reason as a sentence.
pub(super) fn sentence(reason: &str) -> String {
    let mut characters = reason.chars();
    let first = characters.next().map(char::to_uppercase).into_iter().flatten();
    let end = if reason.ends_with('.') { "" } else { "." };
    first.chain(characters).chain(end.chars()).collect()
}

/// Returns the text that the seal of a form protects.
pub(crate) fn answer_to(place: &str) -> String {
    format!("answer/{place}")
}
