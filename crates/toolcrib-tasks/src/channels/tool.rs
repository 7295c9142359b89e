//! Any tool as a channel.

use async_trait::async_trait;
use serde_json::Value;
use toolcrib_model::{ErrorKind, JsonObject, ToolCall, ToolError, pointer_part};

use super::{Channel, Message};
use crate::Error;

/// What can stand between two braces in the arguments: the message, when it happened, and the key of its run.
pub const PLACES: [&str; 3] = ["message", "time", "run_key"];

/// Calls a tool for each message, by the one entrance and in the name of whoever the message is from, so that it may be told
/// what they may call. In the texts of the arguments `{{message}}`, `{{time}}` and `{{run_key}}` are filled in; `{{{{` is two
/// braces.
#[derive(Clone, Debug)]
pub struct ToolChannel {
    tool: String,
    params: JsonObject,
}

impl ToolChannel {
    /// A channel by this tool, with these arguments.
    pub fn new(tool: impl Into<String>, params: JsonObject) -> Result<Self, Error> {
        let told = |_: &str| String::new();
        for (key, value) in &params {
            filled(value, &format!("/{}", pointer_part(key)), &told)?;
        }
        Ok(Self { tool: tool.into(), params })
    }

    /// The name of the tool, as it was given.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    fn arguments(&self, message: &Message<'_>) -> Result<JsonObject, Error> {
        let told = |place: &str| match place {
            "message" => message.text.to_owned(),
            "time" => message.at.to_string(),
            _ => message.run_key.unwrap_or_default().to_owned(),
        };
        self.params
            .iter()
            .map(|(key, value)| Ok((key.clone(), filled(value, &format!("/{}", pointer_part(key)), &told)?)))
            .collect()
    }
}

#[async_trait]
impl Channel for ToolChannel {
    async fn send(&self, message: &Message<'_>) -> Result<(), ToolError> {
        let mut context = message.context.clone();
        let Some(entrance) = context.caller.take() else {
            return Err(ToolError::new(
                ErrorKind::Unavailable,
                "nothing is called any more: the program ends",
            ));
        };
        // What tells of a call stands below it.
        context.depth = context.depth.max(1);
        let arguments = self
            .arguments(message)
            .map_err(|error| ToolError::new(ErrorKind::Internal, error.to_string()))?;
        let call = ToolCall::new(&self.tool, arguments);
        let call = match message.run_key {
            Some(key) => call.with_call_id(key),
            None => call,
        };
        match entrance.call(call, &context).await.error {
            None => Ok(()),
            Some(error) => Err(error),
        }
    }
}

/// A value with the places in its texts filled in. They are gone through once: what is filled in is not looked at again.
fn filled(value: &Value, pointer: &str, told: &dyn Fn(&str) -> String) -> Result<Value, Error> {
    Ok(match value {
        Value::String(text) => Value::String(
            filled_text(text, told)
                .map_err(|reason| Error::UnknownPlace { pointer: pointer.to_owned(), reason })?,
        ),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(position, item)| filled(item, &format!("{pointer}/{position}"), told))
            .collect::<Result<Vec<_>, _>>()?
            .into(),
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, item)| {
                    Ok((key.clone(), filled(item, &format!("{pointer}/{}", pointer_part(key)), told)?))
                })
                .collect::<Result<_, Error>>()?,
        ),
        other => other.clone(),
    })
}

fn filled_text(text: &str, told: &dyn Fn(&str) -> String) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.split_once("{{") {
        out.push_str(before);
        if let Some(after) = from.strip_prefix("{{") {
            out.push_str("{{");
            rest = after;
            continue;
        }
        let (inside, after) = from.split_once("}}").ok_or("`{{` without `}}`")?;
        let place = inside.trim();
        if !PLACES.contains(&place) {
            return Err(format!("unknown `{{{{{place}}}}}`"));
        }
        out.push_str(&told(place));
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}
