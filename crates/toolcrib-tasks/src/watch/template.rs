//! Placeholders for parts of a result in the actions of a watcher.
//!
//! `{{value}}` inserts the result, and `{{value.path}}` a part of it, with the path syntax of conditions. `{{{{` is an
//! escape for `{{`. A text that consists of one placeholder becomes the part itself. In a longer text the part is
//! inserted as JSON, except that texts in the arguments of a call have no quotes. Inserted parts are not scanned again,
//! and never name a tool or a channel.

use serde_json::Value;
use toolcrib_model::text::ellipsize_bytes;

use crate::Action;
use crate::condition::Path;

/// The maximum size of an inserted part in bytes of JSON. A longer part is truncated to a text.
const MAX_FILLED_BYTES: usize = 4_096;

/// The maximum number of placeholders in an action.
const MAX_PLACEHOLDERS: usize = 10;

enum Segment {
    Text(String),
    Placeholder(Path),
}

/// Returns true if an action has placeholders, or an error that describes an invalid one.
pub(super) fn check(action: &Action) -> Result<bool, String> {
    let placeholders = match action {
        Action::Notification { message, channel } => {
            check_name("channel", channel.as_deref().unwrap_or_default())?;
            count_in_text(message)?
        }
        Action::ToolCall { tool, params } => {
            check_name("tool", tool)?;
            params.values().try_fold(0, |sum, value| Ok::<_, String>(sum + count_in_value(value)?))?
        }
        Action::LlmPrompt { prompt } => count_in_text(prompt)?,
    };
    if placeholders > MAX_PLACEHOLDERS {
        return Err(format!("it has {placeholders} placeholders; the limit is {MAX_PLACEHOLDERS}"));
    }
    Ok(placeholders > 0)
}

/// Replaces the placeholders in an action.
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

fn check_name(what: &str, name: &str) -> Result<(), String> {
    if name.contains("{{") {
        Err(format!("the name of a {what} cannot contain placeholders"))
    } else {
        Ok(())
    }
}

fn count_in_value(value: &Value) -> Result<usize, String> {
    match value {
        Value::String(text) => count_in_text(text),
        Value::Array(items) => items.iter().try_fold(0, |sum, item| Ok(sum + count_in_value(item)?)),
        Value::Object(fields) => fields.values().try_fold(0, |sum, field| Ok(sum + count_in_value(field)?)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(0),
    }
}

fn count_in_text(text: &str) -> Result<usize, String> {
    Ok(parse_segments(text)?.iter().filter(|segment| matches!(segment, Segment::Placeholder(_))).count())
}

fn parse_segments(text: &str) -> Result<Vec<Segment>, String> {
    let (mut segments, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once("{{") {
        segments.push(Segment::Text(before.to_owned()));
        if let Some(literal) = after.strip_prefix("{{") {
            segments.push(Segment::Text("{{".to_owned()));
            rest = literal;
            continue;
        }
        let (placeholder, after) = after
            .split_once("}}")
            .ok_or_else(|| "`{{` has no `}}`; for the signs themselves write `{{{{`".to_owned())?;
        let path = placeholder.trim().strip_prefix("value").ok_or_else(|| {
            format!(
                "`{{{{{}}}}}` is not a placeholder; use `{{{{value}}}}` or `{{{{value.path}}}}`",
                ellipsize_bytes(placeholder, 40)
            )
        })?;
        let path = Path::parse(&format!("${path}")).map_err(|error| {
            format!("`{{{{{}}}}}` has an invalid path: {error}", ellipsize_bytes(placeholder, 40))
        })?;
        segments.push(Segment::Placeholder(path));
        rest = after;
    }
    segments.push(Segment::Text(rest.to_owned()));
    segments.retain(|segment| !matches!(segment, Segment::Text(text) if text.is_empty()));
    Ok(segments)
}

fn fill_value(param: &Value, value: &Value) -> Value {
    match param {
        Value::String(text) => match parse_segments(text).as_deref() {
            Ok([Segment::Placeholder(path)]) => truncate_part(path.of(value)),
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
    // The text was validated when the watcher was started.
    let Ok(segments) = parse_segments(text) else { return text.to_owned() };
    let filled = segments.into_iter().map(|segment| match segment {
        Segment::Text(text) => text,
        Segment::Placeholder(path) => match truncate_part(path.of(value)) {
            Value::String(text) if !is_quoted => text,
            part => part.to_string(),
        },
    });
    filled.collect()
}

/// Truncates a part to the size limit. A missing part is null.
fn truncate_part(part: Option<&Value>) -> Value {
    let Some(part) = part else { return Value::Null };
    let json = part.to_string();
    if json.len() <= MAX_FILLED_BYTES {
        return part.clone();
    }
    let text = part.as_str().unwrap_or(&json);
    Value::String(ellipsize_bytes(text, MAX_FILLED_BYTES).into_owned())
}
