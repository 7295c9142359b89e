//! Places in the actions of a watcher where parts of its result stand.
//!
//! `{{value}}` stands for the result and `{{value.path}}` for a part of it, with the paths of conditions; `{{{{` for `{{`. A
//! text that is one place and nothing else becomes the part as it is; in a longer one the part stands as JSON, and in the
//! arguments of a call a text without its quotes. What is filled in is not looked at again, and never names a tool or a channel.

use serde_json::Value;

use super::watcher::cut;
use crate::Action;
use crate::condition::Path;

/// How many bytes of JSON may be filled in at one place; of more, the beginning is, as a text.
const MAX_FILLED_BYTES: usize = 4_096;

/// How many places an action may have.
const MAX_PLACES: usize = 10;

enum Piece {
    Text(String),
    Place(Path),
}

/// Whether an action has such places. An error says what is wrong with one.
pub(super) fn check(action: &Action) -> Result<bool, String> {
    let places = match action {
        Action::Notification { message, channel } => {
            named("channel", channel.as_deref().unwrap_or_default())?;
            places_in(message)?
        }
        Action::ToolCall { tool, params } => {
            named("tool", tool)?;
            params.values().try_fold(0, |sum, value| Ok::<_, String>(sum + places_of(value)?))?
        }
        Action::LlmPrompt { prompt } => places_in(prompt)?,
    };
    if places > MAX_PLACES {
        return Err(format!("it has {places} places to fill in, and may have {MAX_PLACES}"));
    }
    Ok(places > 0)
}

/// The action with a value in its places.
pub(super) fn fill(action: &Action, value: &Value) -> Action {
    match action {
        Action::Notification { message, channel } => {
            Action::Notification { message: fill_text(message, value, true), channel: channel.clone() }
        }
        Action::ToolCall { tool, params } => {
            let filled = params.iter().map(|(key, param)| (key.clone(), fill_value(param, value)));
            Action::ToolCall { tool: tool.clone(), params: filled.collect() }
        }
        Action::LlmPrompt { prompt } => Action::LlmPrompt { prompt: fill_text(prompt, value, true) },
    }
}

fn named(what: &str, name: &str) -> Result<(), String> {
    if name.contains("{{") { Err(format!("a {what} is named, and not filled in")) } else { Ok(()) }
}

fn places_of(value: &Value) -> Result<usize, String> {
    match value {
        Value::String(text) => places_in(text),
        Value::Array(items) => items.iter().try_fold(0, |sum, item| Ok(sum + places_of(item)?)),
        Value::Object(fields) => fields.values().try_fold(0, |sum, field| Ok(sum + places_of(field)?)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(0),
    }
}

fn places_in(text: &str) -> Result<usize, String> {
    Ok(pieces(text)?.iter().filter(|piece| matches!(piece, Piece::Place(_))).count())
}

fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once("{{") {
        pieces.push(Piece::Text(before.to_owned()));
        if let Some(literal) = after.strip_prefix("{{") {
            pieces.push(Piece::Text("{{".to_owned()));
            rest = literal;
            continue;
        }
        let (place, after) = after
            .split_once("}}")
            .ok_or_else(|| "`{{` has no `}}`; for the signs themselves write `{{{{`".to_owned())?;
        let path = place.trim().strip_prefix("value").ok_or_else(|| {
            format!(
                "`{{{{{}}}}}` stands for nothing; there are `{{{{value}}}}` and `{{{{value.path}}}}`",
                cut(place, 40)
            )
        })?;
        let path = Path::parse(&format!("${path}"))
            .map_err(|error| format!("`{{{{{}}}}}` is no path: {error}", cut(place, 40)))?;
        pieces.push(Piece::Place(path));
        rest = after;
    }
    pieces.push(Piece::Text(rest.to_owned()));
    pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
    Ok(pieces)
}

fn fill_value(param: &Value, value: &Value) -> Value {
    match param {
        Value::String(text) => match pieces(text).as_deref() {
            Ok([Piece::Place(path)]) => bounded(path.of(value)),
            _ => Value::String(fill_text(text, value, false)),
        },
        Value::Array(items) => items.iter().map(|item| fill_value(item, value)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, field)| (key.clone(), fill_value(field, value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => param.clone(),
    }
}

fn fill_text(text: &str, value: &Value, is_quoted: bool) -> String {
    // It was found to be right when the watcher was started.
    let Ok(pieces) = pieces(text) else { return text.to_owned() };
    let filled = pieces.into_iter().map(|piece| match piece {
        Piece::Text(text) => text,
        Piece::Place(path) => match bounded(path.of(value)) {
            Value::String(text) if !is_quoted => text,
            part => part.to_string(),
        },
    });
    filled.collect()
}

/// A part within bounds; null where there is none.
fn bounded(part: Option<&Value>) -> Value {
    let Some(part) = part else { return Value::Null };
    let json = part.to_string();
    if json.len() <= MAX_FILLED_BYTES {
        return part.clone();
    }
    Value::String(match part {
        Value::String(text) => cut(text, MAX_FILLED_BYTES),
        _ => cut(&json, MAX_FILLED_BYTES),
    })
}
