//! `agents[].brain.response_format`: the form of a model's messages.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use toolcrib_agent::chat::ResponseFormat;
use toolcrib_model::JsonObject;

/// The name of a schema without one.
const DEFAULT_NAME: &str = "message";

/// `agents[].brain.response_format`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ResponseFormatConfig {
    /// The form of a message.
    pub r#type: ResponseFormatType,
    /// The name of the schema, at most 64 letters, digits, underscores and hyphens. By default `message`.
    pub name: Option<String>,
    /// The schema of `json_schema`.
    #[schemars(with = "Option<BTreeMap<String, Value>>")]
    pub schema: Option<JsonObject>,
    /// True if the server enforces the schema exactly, for which it accepts fewer schemas. By default as the server
    /// does.
    pub strict: Option<bool>,
}

/// `agents[].brain.response_format.type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResponseFormatType {
    /// Text of any form.
    Text,
    /// A JSON object.
    JsonObject,
    /// JSON that conforms to a schema.
    JsonSchema,
}

impl ResponseFormatConfig {
    /// Returns the form that requests ask for.
    pub(crate) fn format(&self) -> ResponseFormat {
        match self.r#type {
            ResponseFormatType::Text => ResponseFormat::Text,
            ResponseFormatType::JsonObject => ResponseFormat::JsonObject,
            ResponseFormatType::JsonSchema => ResponseFormat::JsonSchema {
                name: self.name.clone().unwrap_or_else(|| DEFAULT_NAME.to_owned()),
                schema: self.schema.clone().unwrap_or_default(),
                strict: self.strict,
            },
        }
    }

    /// Returns a message about keys that do not belong together.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let has_schema = self.name.is_some() || self.schema.is_some() || self.strict.is_some();
        match (self.r#type, &self.schema) {
            (ResponseFormatType::JsonSchema, None) => Some("`type: json_schema` requires a `schema`"),
            (ResponseFormatType::JsonSchema, Some(_)) => None,
            _ if has_schema => Some("only `type: json_schema` takes `name`, `schema` and `strict`"),
            _ => None,
        }
    }
}
