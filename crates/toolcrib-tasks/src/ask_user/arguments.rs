//! The arguments of `ask_user`, and their conversion to a question for a person.

use std::collections::BTreeSet;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_model::{ErrorKind, FieldKind, FormField, JsonObject, ToolError, UserQuestion};
use toolcrib_sdk::CallContext;

use super::{DEFAULT_TIMEOUT, MAX_TIMEOUT, MIN_TIMEOUT};

/// The maximum length of a question in characters.
const MAX_QUESTION_CHARS: usize = 4000;

/// The maximum length of the text to review in characters.
const MAX_CONTENT_CHARS: usize = 100_000;

/// The maximum number of choices.
const MAX_CHOICES: usize = 50;

/// The maximum number of fields of a form.
const MAX_FIELDS: usize = 30;

/// The maximum length of a choice, or of the name or label of a field, in characters.
pub const MAX_TEXT_CHARS: usize = 200;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AskUser {
    /// The question, in a sentence or two.
    #[schemars(length(min = 1, max = MAX_QUESTION_CHARS))]
    question: String,
    /// A text for the user to review and edit before approval, such as a plan; Markdown.
    #[serde(default)]
    #[schemars(length(max = MAX_CONTENT_CHARS))]
    content: Option<String>,
    /// The answers of which the user picks one.
    #[serde(default)]
    #[schemars(length(max = MAX_CHOICES))]
    choices: Vec<String>,
    /// A form for the user to fill in.
    #[serde(default)]
    #[schemars(length(max = MAX_FIELDS))]
    fields: Vec<FieldArguments>,
    /// The seconds to wait for the answer.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 10, max = 1800))]
    timeout: f64,
}

fn default_timeout() -> f64 {
    DEFAULT_TIMEOUT.as_secs_f64()
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FieldArguments {
    /// Its key in the answer.
    #[schemars(length(min = 1, max = MAX_TEXT_CHARS))]
    name: String,
    /// The label for the user; the name otherwise.
    #[serde(default)]
    #[schemars(length(max = MAX_TEXT_CHARS))]
    label: Option<String>,
    /// The type of its value.
    #[serde(rename = "type", default)]
    kind: FieldType,
    /// For the type `choice`: the values to pick from.
    #[serde(default)]
    #[schemars(length(max = MAX_CHOICES))]
    choices: Vec<String>,
    /// True if it has to be filled in.
    #[serde(default)]
    required: bool,
    /// The value if the user leaves it as it is.
    #[serde(default)]
    default: Option<Value>,
}

#[derive(Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum FieldType {
    #[default]
    Text,
    Number,
    Integer,
    Boolean,
    Choice,
}

impl AskUser {
    /// Returns the time that the user has to answer, within bounds.
    pub(super) fn timeout(&self) -> Duration {
        let seconds = Duration::try_from_secs_f64(self.timeout).unwrap_or(DEFAULT_TIMEOUT);
        seconds.clamp(MIN_TIMEOUT, MAX_TIMEOUT)
    }

    /// Validates the arguments, and returns the question.
    pub(super) fn question(self, context: &CallContext) -> Result<UserQuestion, ToolError> {
        if self.question.trim().is_empty() {
            return Err(invalid("`question` is empty"));
        }
        check_length("question", &self.question, MAX_QUESTION_CHARS)?;
        if let Some(content) = &self.content {
            check_length("content", content, MAX_CONTENT_CHARS)?;
        }
        check_choices("choices", &self.choices)?;
        if self.fields.len() > MAX_FIELDS {
            return Err(invalid(format!(
                "`fields` has {} entries, at most {MAX_FIELDS} are asked",
                self.fields.len()
            )));
        }
        let mut names = BTreeSet::new();
        let mut fields = Vec::with_capacity(self.fields.len());
        for (position, field) in self.fields.into_iter().enumerate() {
            let field = field.validate(position)?;
            if !names.insert(field.name.clone()) {
                return Err(invalid(format!("two of the `fields` are named `{}`", field.name)));
            }
            fields.push(field);
        }
        Ok(UserQuestion {
            agent: context.agent.clone(),
            content: self.content,
            choices: self.choices,
            fields,
            ..UserQuestion::new(context.session.clone(), self.question)
        })
    }
}

impl FieldArguments {
    fn validate(self, position: usize) -> Result<FormField, ToolError> {
        let place = |key: &str| format!("fields[{position}].{key}");
        if self.name.trim().is_empty() {
            return Err(invalid(format!("`{}` is empty", place("name"))));
        }
        check_length(&place("name"), &self.name, MAX_TEXT_CHARS)?;
        let label = self.label.unwrap_or_else(|| self.name.clone());
        check_length(&place("label"), &label, MAX_TEXT_CHARS)?;
        check_choices(&place("choices"), &self.choices)?;
        let kind = match (self.kind, self.choices.is_empty()) {
            (FieldType::Choice, true) => {
                return Err(invalid(format!(
                    "`{}` is empty, and there is nothing to pick",
                    place("choices")
                )));
            }
            (FieldType::Choice, false) => FieldKind::Choice(self.choices),
            (_, false) => {
                let message = format!("`{}` is for the type `choice` only", place("choices"));
                return Err(invalid(message).with_hint("set `type` to `choice`, or leave `choices` out"));
            }
            (FieldType::Text, true) => FieldKind::Text,
            (FieldType::Number, true) => FieldKind::Number,
            (FieldType::Integer, true) => FieldKind::Integer,
            (FieldType::Boolean, true) => FieldKind::Boolean,
        };
        // `null` means no default.
        let default = self.default.filter(|default| !default.is_null());
        if default.as_ref().is_some_and(|default| !kind.accepts(default)) {
            return Err(invalid(format!("`{}` is not a value of the field's type", place("default"))));
        }
        if let Some(Value::String(text)) = &default {
            check_length(&place("default"), text, MAX_CONTENT_CHARS)?;
        }
        let bounds = JsonObject::new();
        Ok(FormField { name: self.name, label, kind, required: self.required, default, bounds })
    }
}

fn check_choices(name: &str, choices: &[String]) -> Result<(), ToolError> {
    if choices.len() > MAX_CHOICES {
        return Err(invalid(format!(
            "`{name}` has {} entries, at most {MAX_CHOICES} are shown",
            choices.len()
        )));
    }
    let mut seen = BTreeSet::new();
    for choice in choices {
        check_length(name, choice, MAX_TEXT_CHARS)?;
        if choice.trim().is_empty() || !seen.insert(choice.trim()) {
            return Err(invalid(format!("`{name}` has an empty entry, or one twice")));
        }
    }
    Ok(())
}

fn check_length(name: &str, text: &str, limit: usize) -> Result<(), ToolError> {
    match text.chars().count() {
        count if count > limit => {
            Err(invalid(format!("`{name}` has {count} characters, at most {limit} are shown")))
        }
        _ => Ok(()),
    }
}

fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, message)
}
