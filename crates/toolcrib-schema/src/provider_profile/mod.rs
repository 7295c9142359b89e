//! Schemas as the APIs of model vendors accept them.
//!
//! Each API takes a part of JSON Schema, and refuses a whole request over one keyword of one tool. So what is sent is
//! rewritten: it says as much of the original as the API takes, and the rest in descriptions, which the model reads.
//! Arguments are still checked against the original.

mod merge;
mod names;
mod notes;
mod rewrite;
mod rules;

use serde_json::Value;
use toolcrib_model::JsonObject;

use names::PropertyNames;
use rewrite::Rewrite;

/// The deepest nesting of a schema that is sent; what lies deeper is said to be an object or anything.
const MAX_SENT_DEPTH: usize = 32;

/// The most parts of a schema that is sent; what comes later is sent without its form.
pub(crate) const MAX_SENT_PARTS: usize = 2000;

/// The dialect of JSON Schema that an API accepts for the arguments of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// `OpenAI` function calling, without `strict`.
    OpenAi,
    /// `OpenAI` function calling with `strict`: all properties are required, and those that may be left out take null.
    OpenAiStrict,
    /// The Messages API of `Anthropic`.
    Anthropic,
    /// The structured outputs of `Anthropic` and `Gemini`: objects have only the properties that are listed, and bounds
    /// stand in descriptions.
    Structured,
    /// The `parameters` of `Gemini`, a part of `OpenAPI` 3.0.
    Gemini,
    /// The intersection of all profiles, without `strict`, for servers that imitate one of them to an unknown extent.
    #[default]
    Portable,
}

/// A schema as an API accepts it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// The schema, an object schema without references.
    pub schema: Value,
    names: PropertyNames,
}

impl Sent {
    /// Rewrites a schema for an API. The same schema gives the same text every time, and what was rewritten is
    /// rewritten to itself.
    ///
    /// ```
    /// use serde_json::json;
    /// use toolcrib_schema::{Profile, Sent};
    ///
    /// let original = json!({
    ///     "type": "object",
    ///     "properties": {"filter[name]": {"$ref": "#/$defs/name"}, "id": {"type": "integer"}},
    ///     "anyOf": [{"required": ["id"]}, {"required": ["filter[name]"]}],
    ///     "$defs": {"name": {"type": "string", "format": "hostname"}},
    /// });
    /// let sent = Sent::new(&original, Profile::Gemini);
    /// let names: Vec<_> = sent.schema["properties"].as_object().unwrap().keys().collect();
    /// assert_eq!(names, ["filter_name__ed7406e6", "id"]);
    /// assert_eq!(
    ///     sent.schema["properties"]["filter_name__ed7406e6"],
    ///     json!({"type": "string", "description": "(format: \"hostname\")"}),
    /// );
    ///
    /// let given = json!({"filter_name__ed7406e6": "a.example"});
    /// let arguments = sent.restore(given.as_object().cloned().unwrap());
    /// assert_eq!(serde_json::Value::from(arguments), json!({"filter[name]": "a.example"}));
    /// ```
    pub fn new(schema: &Value, profile: Profile) -> Self {
        let rules = profile.rules();
        let names = PropertyNames::of(schema);
        let schema = Rewrite::new(schema, rules, &names).root();
        Self { schema, names }
    }

    /// Returns the arguments that a model gave, under the names that the original schema has. They are for
    /// [`CompiledSchema::repair`](crate::CompiledSchema::repair) of the original.
    pub fn restore(&self, arguments: JsonObject) -> JsonObject {
        if self.names.is_empty() { arguments } else { self.names.restored(arguments) }
    }
}
