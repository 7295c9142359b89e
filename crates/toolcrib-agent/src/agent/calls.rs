//! The calls of a reply, on their way to a result each.

use std::collections::HashSet;

use serde_json::Value;
use toolcrib_model::JsonObject;
use toolcrib_model::text::canonical_json;
use toolcrib_prompt::wire_names::MAX_WIRE_NAME_CHARS;

use super::arguments::parse;
use crate::chat::{Picture, RequestedCall};
use crate::journal::{Answer, OpenCall};

/// The name in the conversation for a name without any valid character.
const NO_NAME: &str = "unknown";

/// The error of the last call of a message that was cut off.
const CUT_OFF: &str =
    "the message was cut off, and the call may not be whole. Write it again, with less in it";

/// A call of the last reply.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) id: String,
    /// As the model wrote it.
    pub(super) name: String,
    /// Or what is wrong with them.
    pub(super) arguments: Result<JsonObject, String>,
    /// The arguments as the model wrote them.
    pub(super) raw: String,
    /// True if the model repeated the same call too often.
    pub(super) is_repeated: bool,
    /// True if an interrupted run began the call.
    pub(super) has_begun: bool,
    /// True if the interrupted call may not be repeated.
    pub(super) is_lost: bool,
    /// The text of the result for the model, once there is one.
    pub(super) answer: Option<String>,
    /// The text of the runtime after a result that loads tools, whose content some APIs do not take.
    pub(super) note: String,
    /// The wire names of the deferred tools that the result loads.
    pub(super) loads: Vec<String>,
    /// The pictures of the result.
    pub(super) pictures: Vec<Picture>,
}

impl Pending {
    fn new(call: RequestedCall) -> Self {
        let RequestedCall { id, name, arguments: raw, problem } = call;
        let arguments = match problem {
            Some(problem) => Err(problem),
            None if name.trim().is_empty() => Err("it has no name".to_owned()),
            None => parse(&raw),
        };
        let (is_repeated, has_begun, is_lost) = (false, false, false);
        let (answer, note, loads, pictures) = (None, String::new(), Vec::new(), Vec::new());
        Self { id, name, arguments, raw, is_repeated, has_begun, is_lost, answer, note, loads, pictures }
    }

    /// Returns a call of a run that was broken off.
    pub(super) fn open(open: OpenCall) -> Self {
        let mut call = Self { has_begun: open.has_begun, ..Self::new(open.call) };
        if let Some(Answer { text, note, loads, pictures, .. }) = open.answer {
            call.answer = Some(text);
            (call.note, call.loads, call.pictures) = (note, loads, pictures);
        }
        call
    }

    /// Marks the call as one that the end of its message may have cut.
    pub(super) fn cut_off(&mut self) {
        if self.arguments.is_ok() {
            self.arguments = Err(CUT_OFF.to_owned());
        }
    }

    /// Returns the name that stands with the result: as the model wrote it, where it wrote any.
    pub(super) fn shown_name(&self) -> String {
        if self.name.is_empty() { NO_NAME.to_owned() } else { self.name.clone() }
    }

    /// Returns the arguments in a form that is the same for the same arguments.
    pub(super) fn compared(&self) -> String {
        match &self.arguments {
            Ok(arguments) => canonical_json(&Value::Object(arguments.clone())),
            Err(_) => self.raw.clone(),
        }
    }

    /// Returns the call as the model wrote it.
    pub(super) fn requested(&self) -> RequestedCall {
        RequestedCall {
            id: self.id.clone(),
            name: self.name.clone(),
            arguments: self.raw.clone(),
            problem: self.arguments.as_ref().err().cloned(),
        }
    }

    /// Returns the call as it appears in the conversation. Servers refuse invalid names and arguments that are not
    /// JSON; the result repeats what the model really wrote.
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
            problem: None,
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

    /// Records an id that was used, also if it is no longer in the conversation.
    pub(super) fn know(&mut self, id: &str) {
        self.used.insert(id.to_owned());
    }

    /// Returns the calls of a reply.
    pub(super) fn read(&mut self, turn: u32, calls: Vec<RequestedCall>) -> Vec<Pending> {
        let calls = calls.into_iter().enumerate().map(|(position, mut call)| {
            call.id = self.unique(&call.id, turn, position);
            Pending::new(call)
        });
        calls.collect()
    }

    /// Returns the id itself, or one made of the places of turn and call where the model gave none, or one that it had
    /// given before.
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
