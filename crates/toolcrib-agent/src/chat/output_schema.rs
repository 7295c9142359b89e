//! Answers as JSON that conforms to a schema.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;
use toolcrib_document::StrictValue;
use toolcrib_model::JsonObject;
use toolcrib_prompt::Profile;
use toolcrib_schema::{CompiledSchema, Repair, Sent};

use super::options::ResponseFormat;
use crate::Error;

/// The largest schema, in bytes of JSON. Each request has it.
pub const MAX_OUTPUT_SCHEMA_BYTES: usize = 64 * 1024;

/// The name of the schema in requests.
const NAME: &str = "answer";

/// The mark of a code block in Markdown.
const FENCE: &str = "```";

/// The schema of the answers of an agent.
///
/// ```
/// use serde_json::json;
/// use toolcrib_agent::chat::OutputSchema;
///
/// let schema = json!({"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]});
/// let schema = OutputSchema::new(&schema)?;
/// let output = schema.read("```json\n{\"total\": \"12\"}\n```")?;
/// assert_eq!((output.value, output.repairs.len()), (json!({"total": 12}), 1));
/// assert_eq!(schema.read("{}").unwrap_err().to_string(), "`total` is missing");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OutputSchema {
    compiled: CompiledSchema,
    instruction: String,
    /// The forms for APIs. None of an API that takes only objects, where the schema is of something else.
    sent: Vec<(Profile, Sent)>,
}

/// The profiles of the APIs that take schemas of answers.
const PROFILES: [Profile; 3] = [Profile::OpenAiStrict, Profile::Structured, Profile::OpenAi];

/// An answer that conforms to its schema.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OutputValue {
    /// The value.
    pub value: Value,
    /// The changes by which it was made to conform.
    pub repairs: Vec<Repair>,
}

/// The reason why an answer does not conform to its schema, for the model and for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoOutput(String);

impl fmt::Display for NoOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoOutput {}

impl OutputSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// The schema is invalid, not within the bounds of schemas, or larger than [`MAX_OUTPUT_SCHEMA_BYTES`].
    pub fn new(schema: &Value) -> Result<Self, Error> {
        let wrong = |message: String| Error::InvalidOutputSchema { message };
        let text = schema.to_string();
        if text.len() > MAX_OUTPUT_SCHEMA_BYTES {
            let bytes = text.len();
            return Err(wrong(format!(
                "expected at most {MAX_OUTPUT_SCHEMA_BYTES} bytes of JSON, found {bytes}"
            )));
        }
        let compiled = CompiledSchema::compile(schema).map_err(|error| wrong(error.to_string()))?;
        let is_object = schema.get("type").is_some_and(|kind| kind == "object");
        let sent = PROFILES.into_iter().filter(|_| is_object);
        Ok(Self {
            sent: sent.map(|profile| (profile, Sent::new(schema, profile))).collect(),
            instruction: instruction(&text),
            compiled,
        })
    }

    /// Returns the schema as it was given.
    pub fn schema(&self) -> &Value {
        self.compiled.schema()
    }

    /// Returns the text by which the system prompt tells a model of the schema.
    pub fn instruction(&self) -> &str {
        &self.instruction
    }

    /// Reads an answer: JSON, also in a code block or with text around it, and repaired as the arguments of calls are.
    pub fn read(&self, answer: &str) -> Result<OutputValue, NoOutput> {
        let mut problem = None;
        for text in candidates(answer) {
            match StrictValue::parse(text) {
                Ok(StrictValue(value)) => return self.conforming(value),
                Err(error) => drop(problem.get_or_insert(error)),
            }
        }
        Err(NoOutput(match problem {
            Some(error) => format!("it is not JSON: {error}"),
            None => "it is empty".to_owned(),
        }))
    }

    fn conforming(&self, value: Value) -> Result<OutputValue, NoOutput> {
        if self.compiled.accepts(&value) {
            return Ok(OutputValue { value, repairs: Vec::new() });
        }
        match value {
            Value::Object(answer) => {
                let answer = self.restored(answer);
                let repaired =
                    self.compiled.repair(answer).map_err(|violations| NoOutput(violations.to_string()))?;
                Ok(OutputValue { value: Value::Object(repaired.arguments), repairs: repaired.repairs })
            }
            // Written twice, as some models do with arguments too.
            Value::String(text) => match StrictValue::parse(&text) {
                Ok(StrictValue(value @ (Value::Object(_) | Value::Array(_)))) => self.conforming(value),
                _ => self.violated(&Value::String(text)),
            },
            other => self.violated(&other),
        }
    }

    fn violated(&self, value: &Value) -> Result<OutputValue, NoOutput> {
        let violations = self.compiled.validate(value).err();
        let problem =
            violations.map_or_else(|| "the schema refuses it".to_owned(), |found| found.to_string());
        Err(NoOutput(problem))
    }

    /// Returns an answer with the names that the schema has: some APIs take only plain ones.
    fn restored(&self, answer: JsonObject) -> JsonObject {
        match self.sent.first() {
            Some((_, sent)) => sent.restore(answer),
            None => answer,
        }
    }

    /// Returns the form for an API that enforces schemas, if the schema can be said in its terms.
    pub(crate) fn strict_format(&self, profile: Profile) -> Option<ResponseFormat> {
        let sent = self.sent_as(profile).filter(|schema| is_expressed(schema))?;
        Some(format(sent, (profile == Profile::OpenAiStrict).then_some(true)))
    }

    /// Returns the form for any other API.
    pub(crate) fn format(&self, strict: Option<bool>) -> Option<ResponseFormat> {
        Some(format(self.sent_as(Profile::OpenAi)?, strict))
    }

    fn sent_as(&self, profile: Profile) -> Option<&Value> {
        let (_, sent) = self.sent.iter().find(|(of, _)| *of == profile)?;
        Some(&sent.schema)
    }
}

fn format(schema: &Value, strict: Option<bool>) -> ResponseFormat {
    let schema = schema.as_object().cloned().unwrap_or_default();
    ResponseFormat::JsonSchema { name: NAME.to_owned(), schema, strict }
}

/// Returns false for a schema of closed objects with a part that nothing but an empty object, or that anything, would
/// fit.
fn is_expressed(schema: &Value) -> bool {
    let Value::Object(part) = schema else { return false };
    let parts = |keyword: &str| part.get(keyword).and_then(Value::as_array).into_iter().flatten();
    let properties = part.get("properties").and_then(Value::as_object);
    let is_empty = part.contains_key("additionalProperties") && properties.is_none_or(JsonObject::is_empty);
    let is_typed = ["type", "enum", "const", "anyOf"].iter().any(|keyword| part.contains_key(*keyword));
    is_typed
        && !is_empty
        && properties.into_iter().flat_map(JsonObject::values).all(is_expressed)
        && part.get("items").is_none_or(is_expressed)
        && parts("anyOf").all(is_expressed)
}

/// Returns the texts of an answer that may be its JSON, the likeliest first.
fn candidates(answer: &str) -> impl Iterator<Item = &str> {
    let whole = answer.trim();
    let outside = |text: &str| text.split_once(FENCE).map(|(before, _)| before.len() + FENCE.len());
    let fenced = outside(whole).and_then(|start| {
        let body = whole.get(start..)?.split_once('\n')?.1;
        Some(body.rsplit_once(FENCE)?.0.trim())
    });
    let start = whole.find(['{', '[']);
    let end = whole.rfind(['}', ']']);
    let inner = start.zip(end).and_then(|(start, end)| whole.get(start..=end));
    [Some(whole), fenced, inner].into_iter().flatten().filter(|text| !text.is_empty())
}

/// Returns a system prompt that tells a model of the schema of its answer.
pub(crate) fn with_instruction<'a>(system: &'a str, schema: Option<&OutputSchema>) -> Cow<'a, str> {
    match schema {
        None => Cow::Borrowed(system),
        Some(schema) if system.is_empty() => Cow::Owned(schema.instruction.clone()),
        Some(schema) => Cow::Owned(format!("{system}\n\n{}", schema.instruction)),
    }
}

fn instruction(schema: &str) -> String {
    format!(
        "# The form of your answer\n\n\
         A program reads your answer. Answer with one JSON value that conforms to the schema below, without Markdown \
         and without other text. You may call tools before you answer.\n\n{schema}"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> OutputSchema {
        let schema = json!({
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer", "minimum": 1},
                "note": {"type": "string"},
            },
            "required": ["city", "days"],
        });
        OutputSchema::new(&schema).unwrap()
    }

    #[test]
    fn an_answer_is_read_in_each_form_that_models_give_it() {
        let expected = json!({"city": "Oslo", "days": 3});
        for answer in [
            r#"{"city": "Oslo", "days": 3}"#,
            "```json\n{\"city\": \"Oslo\", \"days\": 3}\n```",
            "Here it is:\n\n```\n{\"city\": \"Oslo\", \"days\": 3}\n```\nAnything else?",
            "The answer is {\"city\": \"Oslo\", \"days\": 3}.",
            r#""{\"city\": \"Oslo\", \"days\": 3}""#,
            r#"{"city": "Oslo", "days": "3", "note": null}"#,
        ] {
            assert_eq!(schema().read(answer).unwrap().value, expected, "{answer}");
        }
        let repaired = schema().read(r#"{"city": "Oslo", "days": "3"}"#).unwrap();
        assert_eq!(repaired.repairs.len(), 1);
    }

    #[test]
    fn an_answer_that_does_not_conform_is_told_what_is_wrong() {
        let cases = [
            "",
            "It is warm.",
            "{\"city\": \"Oslo\"",
            r#"{"city": "Oslo", "city": "Rome", "days": 1}"#,
            r#"{"city": "Oslo"}"#,
            r#"{"city": "Oslo", "days": 0}"#,
            "[1]",
        ];
        let told = cases.map(|answer| format!("{answer}\n  {}", schema().read(answer).unwrap_err()));
        insta::assert_snapshot!(told.join("\n"));
    }

    #[test]
    fn a_model_is_told_of_the_schema() {
        insta::assert_snapshot!(schema().instruction());
    }

    #[test]
    fn any_schema_of_json_can_be_the_form_of_an_answer() {
        let list = OutputSchema::new(&json!({"type": "array", "items": {"type": "integer"}})).unwrap();
        assert_eq!(list.read("Here: [1, 2]").unwrap().value, json!([1, 2]));
        assert_eq!(list.format(None), None, "APIs take objects only");
        let open = json!({"type": "object", "properties": {"scores": {"type": "object",
            "additionalProperties": {"type": "number"}}}});
        let open = OutputSchema::new(&open).unwrap();
        assert_eq!(open.strict_format(Profile::Structured), None, "no closed object says it");
        assert!(open.format(Some(false)).is_some());
        assert_eq!(open.read(r#"{"scores": {"a": 1}}"#).unwrap().value, json!({"scores": {"a": 1}}));
    }

    #[test]
    fn names_that_an_api_does_not_take_are_those_of_the_schema_again() {
        let schema = json!({"type": "object", "properties": {"filter[name]": {"type": "string"}},
            "required": ["filter[name]"]});
        let schema = OutputSchema::new(&schema).unwrap();
        let Some(ResponseFormat::JsonSchema { schema: sent, .. }) =
            schema.strict_format(Profile::OpenAiStrict)
        else {
            panic!("it can be said")
        };
        let name = sent["properties"].as_object().unwrap().keys().next().unwrap().clone();
        assert_ne!(name, "filter[name]");
        let read = schema.read(&json!({name: "a"}).to_string()).unwrap();
        assert_eq!(read.value, json!({"filter[name]": "a"}));
    }

    #[test]
    fn a_schema_that_cannot_be_used_is_an_error() {
        let large = json!({"description": "x".repeat(MAX_OUTPUT_SCHEMA_BYTES)});
        let told = [json!({"type": "objekt"}), large]
            .map(|schema| OutputSchema::new(&schema).unwrap_err().to_string());
        insta::assert_snapshot!(told.join("\n"));
    }
}
