//! Replies of the model that simulates tools.

use std::fmt;

use serde_json::{Value, json};
use toolcrib_model::JsonObject;
use toolcrib_schema::CompiledSchema;

use super::error_categories::{SCHEMA_VIOLATION, UNPARSEABLE_RESULT};

/// The most bytes of a reply.
const MAX_REPLY_BYTES: usize = 1024 * 1024;

/// The key of the result in a reply.
pub(super) const RESULT: &str = "result";
/// The key of the error message in a reply.
pub(super) const ERROR: &str = "error";
/// The key of the values of the session in a reply.
pub(super) const STATE: &str = "state";

/// A valid reply.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reply {
    pub(super) outcome: Outcome,
    /// The values of the session after the call, if the call changes them.
    pub(super) state: Option<JsonObject>,
}

/// The outcome of a simulated call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    Result(Value),
    /// The tool fails with this message.
    Error(String),
}

/// The reason why a reply is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReplyFault {
    Unparseable(String),
    SchemaViolation(String),
}

impl Reply {
    /// Reads a reply. The result has to match the schema, if there is one.
    pub(super) fn parse(
        text: &str,
        schema: Option<&CompiledSchema>,
        is_stateful: bool,
    ) -> Result<Self, ReplyFault> {
        if text.len() > MAX_REPLY_BYTES {
            return Err(ReplyFault::Unparseable(format!("the reply is longer than {MAX_REPLY_BYTES} bytes")));
        }
        let value: Value = serde_json::from_str(without_fence(text))
            .map_err(|error| ReplyFault::Unparseable(format!("the reply is not JSON: {error}")))?;
        let Value::Object(mut reply) = value else {
            return Err(ReplyFault::Unparseable("the reply is not a JSON object".into()));
        };
        let state = match reply.shift_remove(STATE).filter(|_| is_stateful) {
            None | Some(Value::Null) => None,
            Some(Value::Object(values)) => Some(values),
            Some(_) => return Err(ReplyFault::SchemaViolation(format!("`{STATE}` is not an object"))),
        };
        let error = reply.shift_remove(ERROR).filter(|error| !error.is_null() && *error != "");
        let outcome = match (reply.shift_remove(RESULT), error) {
            (None | Some(Value::Null), Some(Value::String(message))) if !message.trim().is_empty() => {
                Outcome::Error(message)
            }
            (Some(result), None) => {
                if let Some(schema) = schema {
                    schema
                        .validate(&result)
                        .map_err(|violations| ReplyFault::SchemaViolation(violations.to_string()))?;
                }
                Outcome::Result(result)
            }
            _ => {
                let message = format!("the reply needs either `{RESULT}` or the text `{ERROR}`");
                return Err(ReplyFault::Unparseable(message));
            }
        };
        Ok(Self { outcome, state })
    }

    /// Returns the reply without the values of the session.
    pub(super) fn without_state(&self) -> Value {
        match &self.outcome {
            Outcome::Result(value) => json!({RESULT: value}),
            Outcome::Error(message) => json!({ERROR: message}),
        }
    }

    /// Returns the reply as text that [`parse`](Self::parse) reads.
    pub(super) fn text(&self) -> String {
        let mut reply = self.without_state();
        if let (Some(state), Value::Object(reply)) = (&self.state, &mut reply) {
            reply.insert(STATE.to_owned(), Value::Object(state.clone()));
        }
        reply.to_string()
    }
}

impl ReplyFault {
    /// Returns the category of the fault.
    pub(super) fn category(&self) -> &'static str {
        match self {
            Self::Unparseable(_) => UNPARSEABLE_RESULT,
            Self::SchemaViolation(_) => SCHEMA_VIOLATION,
        }
    }
}

impl fmt::Display for ReplyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unparseable(message) | Self::SchemaViolation(message) => f.write_str(message),
        }
    }
}

/// Returns the text in a Markdown code fence, or the text itself.
fn without_fence(text: &str) -> &str {
    let text = text.trim();
    let Some(fenced) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else {
        return text;
    };
    fenced.split_once('\n').map_or(fenced, |(_, body)| body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> CompiledSchema {
        let schema =
            json!({"type": "object", "properties": {"celsius": {"type": "number"}}, "required": ["celsius"]});
        CompiledSchema::compile(&schema).unwrap()
    }

    #[test]
    fn a_reply_is_an_object_with_a_result_or_an_error() {
        let parse = |text| Reply::parse(text, Some(&schema()), false);
        let result = |value| Ok(Reply { outcome: Outcome::Result(value), state: None });
        assert_eq!(parse(r#"{"result": {"celsius": 21}}"#), result(json!({"celsius": 21})));
        assert_eq!(parse("```json\n{\"result\": {\"celsius\": 1}}\n```"), result(json!({"celsius": 1})));
        let failed = Reply { outcome: Outcome::Error("no such city".into()), state: None };
        assert_eq!(parse(r#"{"error": "no such city", "result": null}"#), Ok(failed));
        for (text, category) in [
            ("it is warm", UNPARSEABLE_RESULT),
            ("[1]", UNPARSEABLE_RESULT),
            (r#"{"celsius": 21}"#, UNPARSEABLE_RESULT),
            (r#"{"result": {"celsius": 21}, "error": "both"}"#, UNPARSEABLE_RESULT),
            (r#"{"result": {"celsius": "warm"}}"#, SCHEMA_VIOLATION),
        ] {
            assert_eq!(parse(text).unwrap_err().category(), category, "{text}");
        }
    }

    #[test]
    fn a_reply_is_read_back_from_its_text() {
        for text in [r#"{"result":[1],"state":{"count":1}}"#, r#"{"error":"no"}"#, r#"{"result":null}"#] {
            let reply = Reply::parse(text, None, true).unwrap();
            assert_eq!(reply.text(), text);
            assert_eq!(Reply::parse(&reply.text(), None, true), Ok(reply));
        }
    }

    #[test]
    fn only_stateful_tools_change_the_state() {
        let text = r#"{"result": 1, "state": {"a": 1}}"#;
        assert_eq!(Reply::parse(text, None, false).unwrap().state, None);
        assert!(Reply::parse(text, None, true).unwrap().state.is_some());
        assert!(Reply::parse(r#"{"result": 1, "state": 5}"#, None, true).is_err());
    }
}
