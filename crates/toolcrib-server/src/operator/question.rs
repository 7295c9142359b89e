//! Questions of agents and servers to their user, as an operator sees and answers them.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_model::{FieldKind, FormField, JsonObject, UserAnswer, UserQuestion};

use super::limits::{MAX_SHOWN_QUESTION_BYTES, text, text_to};
use crate::approval::MAX_FEEDBACK_CHARS;

/// A question that waits for an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitingQuestion {
    /// The id, which is unique among the questions and calls of the process.
    pub id: u64,
    /// The session that asks. `serve/CLIENT/…` names the client.
    pub session: String,
    /// The agent that asks, if an agent does.
    pub agent: Option<String>,
    /// The server that asks and receives the answer, if a server does.
    pub server: Option<String>,
    /// The question.
    pub question: String,
    /// The form of the question. Absent if it exceeds [`MAX_SHOWN_QUESTION_BYTES`], in which case the question can only
    /// be declined.
    pub form: Option<WaitingForm>,
    /// The time that it has been waiting, in seconds.
    pub waiting_seconds: u64,
}

/// The inputs of a question, in addition to agreement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitingForm {
    /// A text to review, which may be edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The choices, one of which is the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// The fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<WaitingField>,
}

/// One field of a form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitingField {
    /// The key in the answer.
    pub name: String,
    /// The label for the operator.
    pub label: String,
    /// The type of the value.
    #[serde(rename = "type")]
    pub kind: WaitingKind,
    /// The choices, for `choice` and `choices`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// True if the field is required.
    pub required: bool,
    /// The value if the field is omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
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

/// An agreement to a question, with the completed form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionReply {
    /// The edited text. Absent if it is unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<String>,
    /// The completed fields, by name.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub fields: JsonObject,
    /// An answer in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}

impl WaitingQuestion {
    pub(crate) fn new(id: u64, question: &UserQuestion, waiting: Duration) -> Self {
        let form = WaitingForm {
            content: question.content.clone(),
            choices: question.choices.clone(),
            fields: question.fields.iter().map(WaitingField::new).collect(),
        };
        let bytes = serde_json::to_vec(&form).map_or(usize::MAX, |json| json.len());
        Self {
            id,
            session: text(&question.session),
            agent: question.agent.as_deref().map(text),
            server: question.server.as_deref().map(text),
            // The text of an agent is limited when it is created. That of a server is truncated here.
            question: text_to(&question.question, MAX_SHOWN_QUESTION_BYTES / 16),
            form: (bytes <= MAX_SHOWN_QUESTION_BYTES).then_some(form),
            waiting_seconds: waiting.as_secs(),
        }
    }

    /// Converts the question back for an approver in this process. Returns `None` if it can only be declined.
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

impl From<QuestionReply> for UserAnswer {
    fn from(QuestionReply { content, choice, fields, feedback }: QuestionReply) -> Self {
        let feedback = feedback.map(|words| words.chars().take(MAX_FEEDBACK_CHARS).collect());
        Self::Approved { content, choice, fields, feedback }
    }
}
