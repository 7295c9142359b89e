//! The section with the questions of agents and servers to their user.

use maud::{Markup, html};
use serde_json::Value;
use toolcrib_model::{FieldKind, FormField, UserQuestion};

use super::super::Viewer;
use super::super::html::{text, text_to};
use super::super::markdown::markdown;
use super::super::reply::{MAX_CONTENT_CHARS, field_name, is_editable, is_whole};
use super::{ConsoleView, heading, session};

/// The maximum number of questions that are shown.
const MAX_SHOWN: usize = 20;

/// The maximum length of a question, in characters.
const MAX_QUESTION_CHARS: usize = 4_000;

/// The maximum length of a default value in an input, in characters.
const MAX_DEFAULT_CHARS: usize = 300;

impl ConsoleView<'_> {
    pub(super) fn user_questions(&self) -> Markup {
        let all = self.console.pending.questions_to_user().all();
        let mine: Vec<_> =
            all.iter().filter(|pending| self.viewer.may_see(&pending.question.session)).collect();
        if mine.is_empty() {
            return html! { section id="questions" data-live="items" {} };
        }
        html! {
            section id="questions" data-live="items" {
                (heading("Questions", mine.len()))
                @for pending in mine.into_iter().take(MAX_SHOWN) {
                    @let question = &pending.question;
                    @let place = self.console.pending.questions_to_user().place(pending.id);
                    article id=(format!("question-{place}")) tabindex="0" {
                        h3 {
                            @match (&question.server, &question.agent) {
                                (Some(server), _) => { "The server " (text(server)) " asks, and gets the answer" }
                                (None, Some(agent)) => { "The agent " (text(agent)) " asks" }
                                (None, None) => "A client asks",
                            }
                        }
                        p class="dim" {
                            "For " (text(&session(&question.session))) ", " (pending.waiting.as_secs()) " s ago."
                        }
                        @if *self.viewer == Viewer::Operator { (self.question(&place, question)) }
                    }
                }
            }
        }
    }

    /// Renders the question and the forms that answer it.
    fn question(&self, place: &str, question: &UserQuestion) -> Markup {
        let is_plain =
            question.content.is_none() && question.choices.is_empty() && question.fields.is_empty();
        html! {
            pre tabindex="0" { (text_to(&question.question, MAX_QUESTION_CHARS)) }
            @if let Some(link) = question.link.as_deref().filter(|link| is_web_page(link)) {
                p { a href=(link) target="_blank" rel="noreferrer noopener" { "Open the page" } }
            }
            @if is_whole(question) {
                form method="post" action="/reply" {
                    (self.sealed_question(place, &reply_to(place)))
                    (content(question))
                    @for (number, choice) in question.choices.iter().enumerate() {
                        p { label { input type="radio" name="choice" required value=(number); " " (text(choice)) } }
                    }
                    @for (number, field) in question.fields.iter().enumerate() {
                        (input_of(&field_name(number), field))
                    }
                    @if is_plain { p { label { "In words " input name="feedback" maxlength="1000"; } } }
                    button class="allow" name="say" value="yes" { (if is_plain { "Yes" } else { "Agree" }) }
                }
            } @else {
                pre tabindex="0" { (text_to(question.content.as_deref().unwrap_or_default(), MAX_CONTENT_CHARS)) }
                p { "The text is too long to be shown whole, so it cannot be agreed to here." }
            }
            form method="post" action="/reply" {
                (self.sealed_question(place, &reply_to(place)))
                button class="deny" name="say" value="no" { "No" }
                " " input name="feedback" maxlength="1000" placeholder="why not" aria-label="Why not";
            }
        }
    }
}

/// Returns true if a link leads to a page of the web, and runs nothing here.
fn is_web_page(link: &str) -> bool {
    link.starts_with("https://") || link.starts_with("http://")
}

/// Returns the text that the seal of a form protects.
pub(crate) fn reply_to(place: &str) -> String {
    format!("reply/{place}")
}

/// Renders the text to review, and its source. The source can be edited if a browser returns it unchanged.
fn content(question: &UserQuestion) -> Markup {
    let Some(own) = &question.content else { return Markup::default() };
    html! {
        (markdown(&question.question, own, MAX_CONTENT_CHARS))
        @if is_editable(own) {
            // Browsers drop the first line break within the element.
            textarea name="content" rows="16" aria-label="The text" { "\n" (text_to(own, MAX_CONTENT_CHARS)) }
        } @else {
            pre tabindex="0" { (text_to(own, MAX_CONTENT_CHARS)) }
        }
    }
}

/// Renders the input of a field, with its label.
pub(in crate::console) fn input_of(name: &str, field: &FormField) -> Markup {
    let required = field.required && field.default.is_none();
    let default = field.default.as_ref();
    let select = |options: &[(&str, &str, bool)]| {
        html! {
            select name=(name) required[required] {
                option value="" {}
                @for (value, shown, is_default) in options {
                    option value=(value) selected[*is_default] { (text(shown)) }
                }
            }
        }
    };
    html! {
        p {
            label {
                (text(&field.label)) " "
                @match &field.kind {
                    FieldKind::Text => (input("text", None, name, default, required)),
                    FieldKind::Number => (input("number", Some("any"), name, default, required)),
                    FieldKind::Integer => (input("number", Some("1"), name, default, required)),
                    FieldKind::Boolean => {
                        @let is = |value| default == Some(&Value::Bool(value));
                        (select(&[("yes", "yes", is(true)), ("no", "no", is(false))]))
                    }
                    FieldKind::Choice(choices) => {
                        @let chosen = default.and_then(Value::as_str);
                        @let numbers: Vec<_> = (0..choices.len()).map(|number| number.to_string()).collect();
                        @let options: Vec<_> = numbers.iter().zip(choices)
                            .map(|(number, choice)| (number.as_str(), choice.as_str(), chosen == Some(choice)))
                            .collect();
                        (select(&options))
                    }
                    FieldKind::Choices(_) => {}
                }
            }
            @if let FieldKind::Choices(choices) = &field.kind {
                @let defaults = default.and_then(Value::as_array);
                @for (number, choice) in choices.iter().enumerate() {
                    @let is_default = defaults.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(choice)));
                    label { input type="checkbox" name=(name) value=(number) checked[is_default]; " " (text(choice)) }
                    " "
                }
            }
        }
    }
}

fn input(kind: &str, step: Option<&str>, name: &str, default: Option<&Value>, required: bool) -> Markup {
    let value = default.map(|default| default.as_str().map_or_else(|| default.to_string(), str::to_owned));
    // The default applies if the input stays empty.
    let value = value.filter(|value| is_editable(value) && value.chars().count() <= MAX_DEFAULT_CHARS);
    let value = value.as_deref().map(text);
    html! { input type=(kind) step=[step] name=(name) value=[value] required[required]; }
}
