//! What an agent or a server asks its user, as an operator is told of it and answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_model::{FieldKind, FormField, JsonObject, UserAnswer, UserQuestion};

use super::MAX_SHOWN_QUESTION_BYTES;
use super::wire::{text, text_to};
use crate::approval::{MAX_FEEDBACK_CHARS, PendingQuestion};

/// A question that waits for an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitingQuestion {
    /// Its number, which no other question and no call of the process has.
    pub id: u64,
    /// The session that asks; `serve/CLIENT/…` names the client.
    pub session: String,
    /// The agent that asks, when it is one.
    pub agent: Option<String>,
    /// The server that asks and gets the answer, when it is one.
    pub server: Option<String>,
    /// The question.
    pub question: String,
    /// What is to be filled in; absent where it takes more than [`MAX_SHOWN_QUESTION_BYTES`], and the question can only be
    /// answered with no then.
    pub form: Option<WaitingForm>,
    /// For how many seconds it has been waiting.
    pub waiting_seconds: u64,
}

/// What a question wants besides a yes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitingForm {
    /// A text to look through, which may be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Answers to pick one of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Answers to fill in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<WaitingField>,
}

/// One answer to fill in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitingField {
    /// Its key in the answer.
    pub name: String,
    /// What the operator is shown.
    pub label: String,
    /// What it takes.
    #[serde(rename = "type")]
    pub kind: WaitingKind,
    /// What may be picked, for `choice` and `choices`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Whether it has to be filled in.
    pub required: bool,
    /// What it holds when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// What a field takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingKind {
    /// Any text.
    Text,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// `true` or `false`.
    Boolean,
    /// One of the choices.
    Choice,
    /// A list of choices.
    Choices,
}

/// A yes to a question, with what was filled in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// The text as it was changed; absent where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<String>,
    /// The fields that were filled in, by name.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub fields: JsonObject,
    /// An answer in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}

impl WaitingQuestion {
    pub(super) fn new(pending: &PendingQuestion) -> Self {
        let PendingQuestion { id, question, waiting } = pending;
        let form = WaitingForm {
            content: question.content.clone(),
            choices: question.choices.clone(),
            fields: question.fields.iter().map(WaitingField::new).collect(),
        };
        let bytes = serde_json::to_vec(&form).map_or(usize::MAX, |json| json.len());
        Self {
            id: *id,
            session: text(&question.session),
            agent: question.agent.as_deref().map(text),
            server: question.server.as_deref().map(text),
            // It is bounded where it is made; what a server asks is cut.
            question: text_to(&question.question, MAX_SHOWN_QUESTION_BYTES / 16),
            form: (bytes <= MAX_SHOWN_QUESTION_BYTES).then_some(form),
            waiting_seconds: waiting.as_secs(),
        }
    }

    /// Returns the question as it was asked, for whoever answers it here; `None` where it can only be answered with no.
    pub fn to_question(&self) -> Option<UserQuestion> {
        let WaitingForm { content, choices, fields } = self.form.clone()?;
        let mut question = UserQuestion::new(self.session.as_str(), self.question.as_str());
        question.agent = self.agent.as_deref().map(Into::into);
        question.server = self.server.as_deref().map(Into::into);
        (question.content, question.choices) = (content, choices);
        question.fields = fields.into_iter().map(WaitingField::into_field).collect();
        Some(question)
    }
}

impl WaitingField {
    fn new(field: &FormField) -> Self {
        let (kind, choices) = match &field.kind {
            FieldKind::Text => (WaitingKind::Text, &[][..]),
            FieldKind::Number => (WaitingKind::Number, &[][..]),
            FieldKind::Integer => (WaitingKind::Integer, &[][..]),
            FieldKind::Boolean => (WaitingKind::Boolean, &[][..]),
            FieldKind::Choice(choices) => (WaitingKind::Choice, choices.as_slice()),
            FieldKind::Choices(choices) => (WaitingKind::Choices, choices.as_slice()),
        };
        Self {
            name: field.name.clone(),
            label: field.label.clone(),
            kind,
            choices: choices.to_vec(),
            required: field.required,
            default: field.default.clone(),
        }
    }

    fn into_field(self) -> FormField {
        let Self { name, label, kind, choices, required, default } = self;
        let kind = match kind {
            WaitingKind::Text => FieldKind::Text,
            WaitingKind::Number => FieldKind::Number,
            WaitingKind::Integer => FieldKind::Integer,
            WaitingKind::Boolean => FieldKind::Boolean,
            WaitingKind::Choice => FieldKind::Choice(choices),
            WaitingKind::Choices => FieldKind::Choices(choices),
        };
        // The label describes the bounds, and the server that asks checks them.
        FormField { name, label, kind, required, default, bounds: JsonObject::new() }
    }
}

impl From<Reply> for UserAnswer {
    fn from(Reply { content, choice, fields, feedback }: Reply) -> Self {
        let feedback = feedback.map(|words| words.chars().take(MAX_FEEDBACK_CHARS).collect());
        Self::Approved { content, choice, fields, feedback }
    }
}
