//! The wire formats of model servers: the events of a stream, whole answers, and what the real APIs refuse.

mod chat_completions;
mod chat_completions_check;
mod generate_content;
mod messages;
mod responses;

pub(super) use chat_completions::delta;

use anyhow::{Result, bail};
use serde_json::{Map, Value, json};

/// A format of requests and answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelFormat {
    /// Chat Completions, of `OpenAI` and most others.
    #[default]
    ChatCompletions,
    /// Messages, of Anthropic.
    Messages,
    /// Responses, of `OpenAI`.
    Responses,
    /// `generateContent`, of Gemini.
    GenerateContent,
}

/// The part of a call in a stream, or a whole call.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) index: Option<Value>,
    pub(super) id: Option<Value>,
    pub(super) name: Option<Value>,
    /// The arguments: absent, or of any type.
    #[serde(default, deserialize_with = "present")]
    pub(super) arguments: Option<Value>,
}

impl Call {
    /// Returns true for a piece of this call.
    fn continues(&self, call: &Self) -> bool {
        self.index == call.index && (self.name.is_none() || (self.id.is_some() && self.id == call.id))
    }
}

/// Deserializes a present value, including `null`.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    serde::Deserialize::deserialize(deserializer).map(Some)
}

/// A whole answer.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Whole {
    #[serde(default)]
    pub(super) say: String,
    #[serde(default)]
    pub(super) calls: Vec<Call>,
    /// In the terms of Chat Completions, as everywhere in a script.
    #[serde(default)]
    pub(super) finish: String,
}

/// The events of one stream. Some formats tell where a part begins and ends, so that it remembers what is open.
pub(super) trait Encode: Send {
    /// Returns the event that begins the answer, without saying anything.
    fn begin(&mut self) -> String;
    fn say(&mut self, text: &str) -> String;
    fn think(&mut self, text: &str) -> String;
    fn call(&mut self, call: &Call) -> String;
    /// Ends the answer. The reason is in the terms of Chat Completions.
    fn finish(&mut self, reason: &str) -> String;
    fn usage(&mut self) -> String;
    fn done(&mut self) -> String;
}

impl ModelFormat {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::ChatCompletions, Self::Messages, Self::Responses, Self::GenerateContent];

    /// Returns the name in scripts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat_completions",
            Self::Messages => "messages",
            Self::Responses => "responses",
            Self::GenerateContent => "generate_content",
        }
    }

    /// Returns the format of a path, which has the version before it and may have a query behind it.
    pub(super) fn of_path(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default().strip_prefix("/v1/")?;
        match path {
            "chat/completions" => Some(Self::ChatCompletions),
            "messages" => Some(Self::Messages),
            "responses" => Some(Self::Responses),
            _ => {
                let (_, verb) = path.strip_prefix("models/")?.split_once(':')?;
                ["generateContent", "streamGenerateContent"].contains(&verb).then_some(Self::GenerateContent)
            }
        }
    }

    /// Returns the name of the header with the key, in lower case.
    pub(super) fn key_header(self) -> &'static str {
        match self {
            Self::ChatCompletions | Self::Responses => "authorization",
            Self::Messages => "x-api-key",
            Self::GenerateContent => "x-goog-api-key",
        }
    }

    /// Returns the reason why the real API would refuse a request; `None` if it would not.
    pub(super) fn problem(self, request: &Value) -> Option<String> {
        match self {
            Self::ChatCompletions => chat_completions_check::problem(request),
            Self::Messages => messages::check(request).err(),
            Self::Responses => responses::check(request).err(),
            Self::GenerateContent => generate_content::check(request).err(),
        }
    }

    pub(super) fn encoder(self) -> Box<dyn Encode> {
        match self {
            Self::ChatCompletions => Box::new(chat_completions::CompletionEncoder),
            Self::Messages => Box::new(messages::MessageEncoder::default()),
            Self::Responses => Box::new(responses::ResponseEncoder::default()),
            Self::GenerateContent => Box::new(generate_content::ContentEncoder::default()),
        }
    }

    /// Returns an answer as a whole.
    pub(super) fn whole(self, whole: &Whole) -> Value {
        match self {
            Self::ChatCompletions => chat_completions::whole(whole),
            Self::Messages => messages::whole(whole),
            Self::Responses => responses::whole(whole),
            Self::GenerateContent => generate_content::whole(whole),
        }
    }

    /// Returns the event of an error in the middle of a stream.
    pub(super) fn error(self, message: &str, status: u16) -> String {
        match self {
            Self::ChatCompletions | Self::GenerateContent => {
                event(&json!({"error": {"message": message, "code": status}}))
            }
            Self::Messages => {
                let kind = if status == 529 { "overloaded_error" } else { "api_error" };
                event(&json!({"type": "error", "error": {"type": kind, "message": message}}))
            }
            Self::Responses => event(
                &json!({"type": "error", "code": "server_error", "message": message, "sequence_number": 9}),
            ),
        }
    }
}

impl std::str::FromStr for ModelFormat {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        match Self::ALL.into_iter().find(|format| format.as_str() == name) {
            Some(format) => Ok(format),
            None => bail!("there is no format {name:?}"),
        }
    }
}

fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// Returns an event with its type, as the formats have it that name their events.
fn named(kind: &str, mut fields: Value) -> String {
    let mut value = Map::new();
    value.insert("type".to_owned(), kind.into());
    if let Value::Object(fields) = &mut fields {
        value.append(fields);
    }
    format!("event: {kind}\ndata: {}\n\n", Value::Object(value))
}

/// Returns the object that the text of arguments holds, or the arguments themselves.
fn object_of(arguments: Option<&Value>) -> Value {
    match arguments {
        None => json!({}),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Object(object)) => Value::Object(object),
            _ => Value::String(text.clone()),
        },
        Some(other) => other.clone(),
    }
}

/// Checks that a name is one of a function.
fn check_name(name: &Value) -> Result<(), String> {
    let name = name.as_str().unwrap_or_default();
    if chat_completions_check::is_name(name) {
        Ok(())
    } else {
        Err(format!("{name:?} is no name of a function"))
    }
}

/// Checks that the results between two messages of the model answer its calls, each one once.
fn check_results(calls: &mut Vec<String>, results: &[String]) -> Result<(), String> {
    for result in results {
        let Some(position) = calls.iter().position(|call| call == result) else {
            return Err(format!("the result {result:?} answers no call of the message before it"));
        };
        calls.remove(position);
    }
    match calls.first() {
        Some(id) => Err(format!("the call {id:?} has no result")),
        None => Ok(()),
    }
}
