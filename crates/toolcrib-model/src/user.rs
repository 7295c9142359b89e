//! What an agent asks its user.

use std::sync::Arc;

use crate::JsonObject;

/// A question of an agent to its user, who says yes or no and fills in what is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct UserQuestion {
    /// The session that asks.
    pub session: Arc<str>,
    /// The agent that asks, when it is one.
    pub agent: Option<Arc<str>>,
    /// The question.
    pub question: String,
    /// A text to look through, which the user may change.
    pub content: Option<String>,
    /// Answers to pick one of; empty when there is nothing to pick.
    pub choices: Vec<String>,
    /// Answers to fill in.
    pub fields: Vec<FormField>,
}

/// One answer to fill in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormField {
    /// Its key in the answer.
    pub name: String,
    /// What the user is shown.
    pub label: String,
    /// What it takes.
    pub kind: FieldKind,
    /// Whether it has to be filled in.
    pub required: bool,
}

/// What a field takes.
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
}

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub enum UserAnswer {
    /// Yes.
    Approved {
        /// The content as the user left it; `None` where it was not changed.
        content: Option<String>,
        /// The choice.
        choice: Option<String>,
        /// The fields that were filled in, by name.
        fields: JsonObject,
        /// What the user said besides.
        feedback: Option<String>,
    },
    /// No, with what the user said.
    Denied(Option<String>),
    /// There is nobody to ask.
    Nobody,
}
