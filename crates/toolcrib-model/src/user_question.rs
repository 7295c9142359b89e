//! Questions of an agent to its user.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::JsonObject;

/// A question to the user of an agent, or of a server during a call; the user approves or denies, and fills in the
/// requested fields.
#[derive(Clone, Debug, PartialEq)]
pub struct UserQuestion {
    /// The session that asks.
    pub session: Arc<str>,
    /// The agent that asks, if an agent asks.
    pub agent: Option<Arc<str>>,
    /// The server that asks and gets the answer, if a server asks: the name that the app has for it.
    pub server: Option<Arc<str>>,
    /// The identifier of the question, for a program that answers it.
    pub key: Option<String>,
    /// The question.
    pub question: String,
    /// A page to open, whose URL is in the question too.
    pub link: Option<String>,
    /// A text to review, which the user may change.
    pub content: Option<String>,
    /// The answers to choose from; may be empty.
    pub choices: Vec<String>,
    /// The fields to fill in.
    pub fields: Vec<FormField>,
}

impl UserQuestion {
    /// Creates a question of this session, without content, choices or fields.
    pub fn new(session: impl Into<Arc<str>>, question: impl Into<String>) -> Self {
        Self {
            session: session.into(),
            agent: None,
            server: None,
            key: None,
            question: question.into(),
            link: None,
            content: None,
            choices: Vec::new(),
            fields: Vec::new(),
        }
    }
}

/// A field to fill in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormField {
    /// Its key in the answer.
    pub name: String,
    /// The label for the user.
    pub label: String,
    /// The kind of value.
    pub kind: FieldKind,
    /// True if a value is required.
    pub required: bool,
    /// The value if the user leaves the field unchanged.
    pub default: Option<Value>,
    /// The bounds of a value in the keywords of JSON Schema, such as `minimum` and `format`. The label describes them for
    /// people; these are for a program that draws the form.
    pub bounds: JsonObject,
}

/// The kind of value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Any text.
    Text,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// Yes or no.
    Boolean,
    /// One of these.
    Choice(Vec<String>),
    /// Any of these, as a list.
    Choices(Vec<String>),
}

impl FieldKind {
    /// Returns true if the field accepts a value.
    pub fn accepts(&self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Number => value.is_number(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Boolean => value.is_boolean(),
            Self::Choice(choices) => is_one(choices, value),
            Self::Choices(choices) => value.as_array().is_some_and(|all| {
                let is_new = |at: usize, one: &Value| all.iter().take(at).all(|earlier| earlier != one);
                all.iter().enumerate().all(|(at, one)| is_one(choices, one) && is_new(at, one))
            }),
        }
    }

    /// Parses the text that a person typed. An error names the expected form. A choice may be given as its number, from 1,
    /// and several choices are separated by commas.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let trimmed = text.trim();
        match self {
            Self::Text => Ok(text.into()),
            Self::Number => match trimmed.parse::<serde_json::Number>() {
                Ok(number) => Ok(Value::Number(number)),
                Err(_) => Err("expected a number, for example 2.5".into()),
            },
            Self::Integer => match trimmed.parse::<serde_json::Number>().map(Value::Number) {
                Ok(number) if self.accepts(&number) => Ok(number),
                _ => Err("expected an integer, for example 42".into()),
            },
            Self::Boolean => match trimmed.to_lowercase().as_str() {
                "y" | "yes" | "true" => Ok(true.into()),
                "n" | "no" | "false" => Ok(false.into()),
                _ => Err("expected y or n".into()),
            },
            Self::Choice(choices) => match chosen(choices, trimmed) {
                Some(choice) => Ok(choice.into()),
                None => Err(format!(
                    "expected one of the choices, for example its number from 1 to {}",
                    choices.len()
                )),
            },
            Self::Choices(choices) => {
                let all: Option<Vec<&str>> =
                    trimmed.split(',').map(|one| chosen(choices, one.trim())).collect();
                let value = all.map(Value::from).filter(|value| self.accepts(value));
                value.ok_or_else(|| {
                    format!(
                        "expected choices, as their numbers from 1 to {}, for example 1, 2",
                        choices.len()
                    )
                })
            }
        }
    }
}

fn is_one(choices: &[String], value: &Value) -> bool {
    value.as_str().is_some_and(|text| choices.iter().any(|choice| choice == text))
}

/// Returns the choice that a person wrote, or whose number they wrote.
fn chosen<'a>(choices: &'a [String], text: &str) -> Option<&'a str> {
    let by_number = || choices.get(text.parse::<usize>().ok()?.checked_sub(1)?);
    choices.iter().find(|choice| choice.trim() == text).or_else(by_number).map(String::as_str)
}

/// The answer of a user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserAnswer {
    /// Yes.
    Approved {
        /// The content after the user's changes; `None` if it was not changed.
        content: Option<String>,
        /// The choice.
        choice: Option<String>,
        /// The fields that were filled in, by name.
        fields: JsonObject,
        /// The user's additional comment.
        feedback: Option<String>,
    },
    /// No, with the user's comment.
    Denied(Option<String>),
    /// There is no user to ask.
    Nobody,
}
