//! Requested calls of models, files or people.

use serde::{Deserialize, Serialize, de};
use serde_json::Value;

use crate::JsonObject;
use crate::name::NAMESPACE_SEPARATOR;

/// A requested call. The name is not resolved and the arguments are not checked yet.
///
/// Serialized as `{"name": "ns::name", "arguments": {…}, "call_id": "…"}`. Deserialization is more lenient: it accepts a
/// separate `namespace` with a bare `name`, `arguments` as JSON text, and `id` for `call_id`.
///
/// ```
/// use toolcrib_model::ToolCall;
/// let call: ToolCall = serde_json::from_str(
///     r#"{"namespace": "files", "name": "read", "arguments": "{\"path\": \"a.txt\"}", "id": "1"}"#)?;
/// assert_eq!(call.name, "files::read");
/// assert_eq!(call.arguments["path"], "a.txt");
/// assert_eq!(call.call_id.as_deref(), Some("1"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ToolCall {
    /// The tool: `namespace::name`; other spellings are resolved against the tools that exist.
    pub name: String,
    /// The arguments by name.
    pub arguments: JsonObject,
    /// An identifier that the result repeats, so that the two can be matched.
    pub call_id: Option<String>,
}

impl ToolCall {
    /// Creates a call without an id.
    pub fn new(name: impl Into<String>, arguments: JsonObject) -> Self {
        Self { name: name.into(), arguments, call_id: None }
    }

    /// Adds the id.
    pub fn with_call_id(mut self, call_id: impl Into<String>) -> Self {
        self.call_id = Some(call_id.into());
        self
    }
}

#[derive(Deserialize)]
struct LenientCall {
    name: String,
    namespace: Option<String>,
    #[serde(default)]
    arguments: Value,
    #[serde(alias = "id")]
    call_id: Option<String>,
}

impl<'de> Deserialize<'de> for ToolCall {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let call = LenientCall::deserialize(deserializer)?;
        let name = match call.namespace {
            Some(namespace) if !call.name.contains(NAMESPACE_SEPARATOR) => {
                format!("{namespace}{NAMESPACE_SEPARATOR}{}", call.name)
            }
            _ => call.name,
        };
        let arguments = match call.arguments {
            Value::Null => JsonObject::new(),
            Value::Object(arguments) => arguments,
            Value::String(text) => serde_json::from_str(&text).map_err(|error| {
                de::Error::custom(format!("`arguments` is a text that is not a JSON object: {error}"))
            })?,
            other => return Err(de::Error::custom(format!("`arguments` must be an object, not {other}"))),
        };
        Ok(Self { name, arguments, call_id: call.call_id })
    }
}
