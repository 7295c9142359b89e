//! The calls of a reply, on their way to a result each.

use std::collections::HashSet;

use serde_json::Value;
use toolcrib_model::JsonObject;
use toolcrib_prompt::{MAX_WIRE_NAME_CHARS, TextCall};

use super::arguments::parse;
use crate::RequestedCall;

/// What stands in the conversation for a name that has no character of a name.
const NO_NAME: &str = "unknown";

/// A call of the last reply.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) id: String,
    /// As the model wrote it.
    pub(super) name: String,
    /// Or what is wrong with them.
    pub(super) arguments: Result<JsonObject, String>,
    /// What the model wrote.
    pub(super) raw: String,
    /// Whether it is one of the same too often.
    pub(super) is_repeated: bool,
    /// What the model reads of what came of it, when it has come.
    pub(super) answer: Option<String>,
}

impl Pending {
    fn new(id: String, name: &str, arguments: Result<JsonObject, String>, raw: String) -> Self {
        let arguments = match arguments {
            Ok(_) if name.trim().is_empty() => Err("it has no name".to_owned()),
            arguments => arguments,
        };
        Self { id, name: name.to_owned(), arguments, raw, is_repeated: false, answer: None }
    }

    /// The call as it stands in the conversation. Servers refuse to read names that are none and arguments that are not
    /// JSON; what the model really wrote, its result says.
    pub(super) fn echo(&self) -> RequestedCall {
        let name: String = self
            .name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
            .take(MAX_WIRE_NAME_CHARS)
            .collect();
        RequestedCall {
            id: self.id.clone(),
            name: if name.is_empty() { NO_NAME.to_owned() } else { name },
            arguments: match &self.arguments {
                Ok(arguments) => Value::Object(arguments.clone()).to_string(),
                Err(_) => "{}".to_owned(),
            },
        }
    }
}

/// The ids of the calls of a conversation.
#[derive(Debug)]
pub(super) struct CallIds {
    used: HashSet<String>,
}

impl CallIds {
    pub(super) fn new(used: HashSet<String>) -> Self {
        Self { used }
    }

    /// Calls made through the API.
    pub(super) fn native(&mut self, turn: u32, calls: &[RequestedCall]) -> Vec<Pending> {
        let calls = calls.iter().enumerate().map(|(position, call)| {
            let id = self.unique(&call.id, turn, position);
            Pending::new(id, &call.name, parse(&call.arguments), call.arguments.clone())
        });
        calls.collect()
    }

    /// Calls written as text.
    pub(super) fn text(&mut self, turn: u32, calls: Vec<TextCall>) -> Vec<Pending> {
        let calls = calls.into_iter().enumerate().map(|(position, call)| {
            Pending::new(self.unique("", turn, position), &call.name, call.arguments, call.raw)
        });
        calls.collect()
    }

    /// The id itself, or one made of the places of turn and call where the model gave none, or one that it had given
    /// before.
    fn unique(&mut self, id: &str, turn: u32, position: usize) -> String {
        let mut unique = id.to_owned();
        let mut number = position + 1;
        while unique.is_empty() || self.used.contains(&unique) {
            unique = format!("call_{turn}_{number}");
            number += 1;
        }
        self.used.insert(unique.clone());
        unique
    }
}
