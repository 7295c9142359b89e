//! Arguments that a person writes.

use serde_json::Value;
use toolcrib_document::{Format, Limits, parse};
use toolcrib_model::JsonObject;

use super::prompter::Dialogue;
use crate::ui::printable::printable_json;

/// The most lines of one edit without an editor.
const MAX_INLINE_LINES: usize = 200;

const INLINE_HELP: &str = "\nno editor is set (VISUAL or EDITOR); write the changes here, one on a line:\n  name = value   sets \
                           an argument; the value is JSON, or else a text\n  name =         takes it away\n  {…}            \
                           takes the place of all\nan empty line ends";

/// The outcome of an edit.
#[derive(Debug, PartialEq)]
pub(super) enum Edited {
    Arguments(JsonObject),
    /// The text cannot be parsed. It is stored for another try.
    Broken {
        draft: String,
        problem: String,
    },
}

/// Lets the person change arguments, from a draft of them on.
pub(super) async fn arguments(dialogue: &dyn Dialogue, draft: &str, current: &JsonObject) -> Edited {
    if !dialogue.has_editor() {
        return Edited::Arguments(inline(dialogue, current.clone()).await);
    }
    match dialogue.edit(draft, ".json").await {
        Err(problem) => Edited::Broken { draft: draft.to_owned(), problem },
        Ok(text) => match read(&text) {
            Ok(arguments) => Edited::Arguments(arguments),
            Err(problem) => Edited::Broken { draft: text, problem },
        },
    }
}

/// Returns the arguments as they are put before a person to edit.
pub(super) fn draft(arguments: &JsonObject) -> String {
    let text = serde_json::to_string_pretty(arguments).unwrap_or_default();
    printable_json(&text) + "\n"
}

async fn inline(dialogue: &dyn Dialogue, mut arguments: JsonObject) -> JsonObject {
    let mut shown = INLINE_HELP.to_owned();
    for _ in 0..MAX_INLINE_LINES {
        let line = dialogue.ask(&shown, "edit> ").await;
        let Some(line) = line.as_deref().map(str::trim).filter(|line| !line.is_empty()) else { break };
        shown.clear();
        match change(&arguments, line) {
            Ok(changed) => arguments = changed,
            Err(problem) => shown = problem,
        }
    }
    arguments
}

fn change(arguments: &JsonObject, line: &str) -> Result<JsonObject, String> {
    if line.starts_with('{') {
        return read(line);
    }
    let Some((name, value)) = line.split_once('=') else {
        return Err("write it as `name = value`".to_owned());
    };
    let (name, value) = (name.trim(), value.trim());
    let mut arguments = arguments.clone();
    if value.is_empty() {
        arguments.shift_remove(name);
    } else {
        let read = parse(value.as_bytes(), Format::Json, &Limits::default());
        arguments.insert(name.to_owned(), read.map_or_else(|_| value.into(), |document| document.value));
    }
    Ok(arguments)
}

fn read(text: &str) -> Result<JsonObject, String> {
    match parse(text.as_bytes(), Format::Json, &Limits::default()) {
        Err(error) => Err(error.at("arguments")),
        Ok(document) => match document.value {
            Value::Object(arguments) => Ok(arguments),
            _ => Err("the arguments have to be one JSON object, as {\"path\": \"a.txt\"}".to_owned()),
        },
    }
}
