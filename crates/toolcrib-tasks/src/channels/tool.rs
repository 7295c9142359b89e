//! The channel that calls a tool.

use async_trait::async_trait;
use serde_json::Value;
use toolcrib_model::text::pointer_part;
use toolcrib_model::{ErrorKind, JsonObject, ToolCall, ToolError};

use super::{Channel, Message};
use crate::Error;

/// The placeholders in the arguments: the message, its time, and the key of its run.
const PLACEHOLDERS: [&str; 3] = ["message", "time", "run_key"];

/// A channel that calls a tool for each message, on behalf of its sender and under the policy that applies to the
/// sender. In the texts of the arguments, `{{message}}`, `{{time}}` and `{{run_key}}` are replaced; `{{{{` is an escape
/// for two braces.
#[derive(Clone, Debug)]
pub struct ToolChannel {
    tool: String,
    params: JsonObject,
}

impl ToolChannel {
    /// Creates a channel that calls a tool with these arguments.
    pub fn new(tool: impl Into<String>, params: JsonObject) -> Result<Self, Error> {
        let replacement = |_: &str| String::new();
        for (key, value) in &params {
            replace_placeholders(value, &format!("/{}", pointer_part(key)), &replacement)?;
        }
        Ok(Self { tool: tool.into(), params })
    }

    /// Returns the name of the tool, as it was given.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    fn arguments(&self, message: &Message<'_>) -> Result<JsonObject, Error> {
        let replacement = |placeholder: &str| match placeholder {
            "message" => message.text.to_owned(),
            "time" => message.at.to_string(),
            _ => message.run_key.unwrap_or_default().to_owned(),
        };
        self.params
            .iter()
            .map(|(key, value)| {
                Ok((
                    key.clone(),
                    replace_placeholders(value, &format!("/{}", pointer_part(key)), &replacement)?,
                ))
            })
            .collect()
    }
}

#[async_trait]
impl Channel for ToolChannel {
    async fn send(&self, message: &Message<'_>) -> Result<(), ToolError> {
        let mut context = message.context.clone();
        let Some(tool_caller) = context.caller.take() else {
            return Err(ToolError::new(
                ErrorKind::Unavailable,
                "the program is ending and makes no more calls",
            ));
        };
        // The call that delivers a message is nested in the call that sends it.
        context.depth = context.depth.max(1);
        let arguments = self
            .arguments(message)
            .map_err(|error| ToolError::new(ErrorKind::Internal, error.to_string()))?;
        let call = ToolCall::new(&self.tool, arguments);
        let call = match message.run_key {
            Some(key) => call.with_call_id(key),
            None => call,
        };
        match tool_caller.call(call, &context).await.error {
            None => Ok(()),
            Some(error) => Err(error),
        }
    }
}

/// Replaces the placeholders in the texts of a value in one pass. Replacements are not scanned again.
fn replace_placeholders(
    value: &Value,
    pointer: &str,
    replacement: &dyn Fn(&str) -> String,
) -> Result<Value, Error> {
    Ok(match value {
        Value::String(text) => Value::String(
            replace_in_text(text, replacement)
                .map_err(|reason| Error::UnknownPlaceholder { pointer: pointer.to_owned(), reason })?,
        ),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(position, item)| replace_placeholders(item, &format!("{pointer}/{position}"), replacement))
            .collect::<Result<Vec<_>, _>>()?
            .into(),
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, item)| {
                    Ok((
                        key.clone(),
                        replace_placeholders(item, &format!("{pointer}/{}", pointer_part(key)), replacement)?,
                    ))
                })
                .collect::<Result<_, Error>>()?,
        ),
        other => other.clone(),
    })
}

fn replace_in_text(text: &str, replacement: &dyn Fn(&str) -> String) -> Result<String, String> {
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
        let placeholder = inside.trim();
        if !PLACEHOLDERS.contains(&placeholder) {
            return Err(format!("unknown `{{{{{placeholder}}}}}`"));
        }
        out.push_str(&replacement(placeholder));
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}
