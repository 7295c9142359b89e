//! Questions of an agent or a server to the user: a text to review, a choice, a form.

use std::fmt::Write as _;

use serde_json::Value;
use toolcrib_model::{FieldKind, FormField, JsonObject, UserAnswer, UserQuestion};

use super::diff;
use super::markdown::rendered;
use super::prompter::Dialogue;
use super::reply::{Confirmation, Reply, feedback, reply};
use super::show::quoted;
use crate::ui::printable::{Layout, cut, excerpt};

/// The most bytes of the text to look through that are shown at first.
const MAX_CONTENT_BYTES: usize = 8000;

/// The most bytes of a question, or of the whole text to look through.
const MAX_TEXT_BYTES: usize = 400_000;

/// The most bytes of a label, a choice or a default.
const MAX_LABEL_BYTES: usize = 800;

/// The number of invalid answers before the question counts as declined.
const MAX_ATTEMPTS: usize = 10;

/// The line that ends a text that is written without an editor.
const END_OF_TEXT: &str = ".";

/// The most lines of such a text.
const MAX_INLINE_LINES: usize = 1000;

/// Asks, until there is an answer.
pub(super) async fn ask(dialogue: &dyn Dialogue, question: &UserQuestion) -> UserAnswer {
    match answer(dialogue, question).await {
        Ok(answer) => answer,
        Err(said) => UserAnswer::Denied(said),
    }
}

/// Returns the answer; an error is a no, with what was said.
async fn answer(dialogue: &dyn Dialogue, question: &UserQuestion) -> Result<UserAnswer, Option<String>> {
    let named = |name: &str| format!(" {}", excerpt(name, MAX_LABEL_BYTES));
    let agent = question.agent.as_deref().map(named).unwrap_or_default();
    let who = match question.server.as_deref().map(named) {
        Some(server) => format!("the server{server} asks you, and gets your answer:"),
        None => format!("the agent{agent} asks you:"),
    };
    let asked = quoted(&rendered("", &cut(&question.question, Layout::Lines, MAX_TEXT_BYTES)));
    let mut text = format!("\n{who}\n{asked}");
    let (mut content, mut choice, mut said) = (None, None, None);
    if let Some(own) = &question.content {
        content = reviewed(dialogue, &mut text, &question.question, own).await?;
    }
    if !question.choices.is_empty() {
        choice = Some(picked(dialogue, &mut text, &question.choices).await?);
    }
    let fields = filled(dialogue, &mut text, &question.fields).await?;
    if question.content.is_none() && question.choices.is_empty() && question.fields.is_empty() {
        said = plain(dialogue, &text).await?;
    }
    Ok(UserAnswer::Approved { content, choice, fields, feedback: said })
}

/// Returns a question without anything to look at: yes, no, or an answer in words.
async fn plain(dialogue: &dyn Dialogue, text: &str) -> Result<Option<String>, Option<String>> {
    let line = dialogue.ask(text, "your answer? [y, n, or in words] ").await;
    let said = line.as_deref().unwrap_or_default().trim();
    match said.to_lowercase().as_str() {
        "" | "n" | "no" => Err(None),
        "y" | "yes" => Ok(None),
        _ => Ok(Some(feedback(said))),
    }
}

/// Returns the text as the person left it; `None` where it is as it was.
async fn reviewed(
    dialogue: &dyn Dialogue,
    text: &mut String,
    title: &str,
    own: &str,
) -> Result<Option<String>, Option<String>> {
    let mut edited: Option<String> = None;
    let mut max_bytes = MAX_CONTENT_BYTES;
    // What was said before stands above the text once.
    let review = |max_bytes| quoted(&rendered(title, &cut(own, Layout::Lines, max_bytes)));
    let mut shown = std::mem::take(text) + "\n\n" + &review(max_bytes);
    for _ in 0..MAX_ATTEMPTS {
        let more = if own.len() > max_bytes { ", a all of it" } else { "" };
        let undo = if edited.is_some() { ", u undo" } else { "" };
        let prompt = format!("agreed? [y, e edit{more}{undo}, n no, or say why not] ");
        match reply(dialogue.ask(&shown, &prompt).await.as_deref(), &Confirmation::Letter) {
            Reply::Yes(_) => return Ok(edited),
            Reply::No(said) => return Err(said),
            Reply::All => {
                max_bytes = MAX_TEXT_BYTES;
                shown = review(max_bytes);
            }
            Reply::Undo => {
                edited = None;
                "it is as it was".clone_into(&mut shown);
            }
            Reply::Edit => match change(dialogue, edited.as_deref().unwrap_or(own)).await {
                Err(problem) => {
                    let problem = quoted(&cut(&problem, Layout::Lines, MAX_LABEL_BYTES));
                    shown = format!("the edit was not taken:\n{problem}");
                }
                Ok(new) if new == own => {
                    edited = None;
                    "it is as it was".clone_into(&mut shown);
                }
                Ok(new) => {
                    shown = format!("\nwith these changes\n{}", diff::lines(own, &new));
                    edited = Some(new);
                }
            },
            Reply::Unclear | Reply::WriteRule => {
                "expected y, e or n, or in words why not".clone_into(&mut shown);
            }
        }
    }
    Err(None)
}

async fn change(dialogue: &dyn Dialogue, text: &str) -> Result<String, String> {
    if dialogue.has_editor() {
        let edited = dialogue.edit(text, ".md").await?;
        // Editors end the last line, which is not a change.
        let is_ended = edited.ends_with('\n') && !text.ends_with('\n');
        return Ok(if is_ended { edited.trim_end_matches('\n').to_owned() } else { edited });
    }
    let mut shown = format!(
        "no editor is set (VISUAL or EDITOR); write the whole new text, and end it with a line `{END_OF_TEXT}`"
    );
    let mut lines = Vec::new();
    for _ in 0..MAX_INLINE_LINES {
        let Some(line) = dialogue.ask(&shown, "text> ").await else { return Err("it has no end".to_owned()) };
        shown.clear();
        let line = line.trim_end_matches(['\n', '\r']);
        if line == END_OF_TEXT {
            return Ok(lines.join("\n"));
        }
        lines.push(line.to_owned());
    }
    Err(format!("it has more than {MAX_INLINE_LINES} lines; set an editor"))
}

/// One of the choices, by its number or its text.
async fn picked(
    dialogue: &dyn Dialogue,
    text: &mut String,
    choices: &[String],
) -> Result<String, Option<String>> {
    let mut shown = std::mem::take(text) + &numbered_list(choices);
    let kind = FieldKind::Choice(choices.to_vec());
    let prompt = format!("which one? [1-{}, n none, or say why not] ", choices.len());
    for _ in 0..MAX_ATTEMPTS {
        let line = dialogue.ask(&shown, &prompt).await;
        let said = line.as_deref().unwrap_or_default().trim();
        if let Ok(Value::String(choice)) = kind.parse(said) {
            return Ok(choice);
        }
        let is_number = !said.is_empty() && said.bytes().all(|byte| byte.is_ascii_digit());
        match reply(Some(said), &Confirmation::Letter) {
            Reply::No(said) if !is_number => return Err(said),
            _ => shown = format!("write a number from 1 to {}", choices.len()),
        }
    }
    Err(None)
}

fn numbered_list(choices: &[String]) -> String {
    let mut text = String::new();
    for (at, choice) in choices.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {}. {}", at + 1, excerpt(choice, MAX_LABEL_BYTES));
    }
    text
}

/// Returns the fields of a form, one by one.
async fn filled(
    dialogue: &dyn Dialogue,
    text: &mut String,
    fields: &[FormField],
) -> Result<JsonObject, Option<String>> {
    let mut filled = JsonObject::new();
    for (at, field) in fields.iter().enumerate() {
        let above = std::mem::take(text);
        if let Some(value) = one_field(dialogue, &above, field, (at + 1, fields.len())).await? {
            filled.insert(field.name.clone(), value);
        }
    }
    Ok(filled)
}

/// Returns the value of one field; `None` where it is left empty.
async fn one_field(
    dialogue: &dyn Dialogue,
    above: &str,
    field: &FormField,
    (number, count): (usize, usize),
) -> Result<Option<Value>, Option<String>> {
    let label = excerpt(&field.label, MAX_LABEL_BYTES);
    let kind = match &field.kind {
        FieldKind::Text => "text",
        FieldKind::Number => "number",
        FieldKind::Integer => "whole number",
        FieldKind::Boolean => "y or n",
        FieldKind::Choice(_) => "one of these",
        FieldKind::Choices(_) => "any of these, with commas",
    };
    let default = field.default.as_ref();
    let empty = match default {
        Some(default) => format!("empty: {}", excerpt(&default.to_string(), MAX_LABEL_BYTES)),
        None if field.required => "required".to_owned(),
        None => "may be empty".to_owned(),
    };
    let mut shown = format!("{above}\n({number} of {count}) {label} [{kind}; {empty}]");
    if let FieldKind::Choice(choices) | FieldKind::Choices(choices) = &field.kind {
        shown.push_str(&numbered_list(choices));
    }
    for _ in 0..MAX_ATTEMPTS {
        // The end of the input gives the form up.
        let Some(line) = dialogue.ask(&shown, "> ").await else { return Err(None) };
        let line = line.trim_end_matches(['\n', '\r']);
        shown = match (line.trim().is_empty(), default) {
            (true, Some(default)) => return Ok(Some(default.clone())),
            (true, None) if field.required => "it has to be filled in; Ctrl-D gives the form up".to_owned(),
            (true, None) => return Ok(None),
            (false, _) => match field.kind.parse(line) {
                Ok(value) => return Ok(Some(value)),
                Err(problem) => problem,
            },
        };
    }
    Err(None)
}
