//! A question to the user.

use std::sync::Arc;

use rmcp::model::ElicitRequestParams;
use serde_json::Value;
use toolcrib_model::{JsonObject, UserQuestion};

use super::form::Form;
use super::page::Page;
use super::{MAX_MESSAGE_CHARS, secret_detection};
use crate::text::clean;

/// A question of a server.
#[derive(Debug)]
pub(crate) enum Question {
    Form(Form),
    Page(Page),
}

/// The user's reply.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    /// Accepted, with the content for the server.
    Accept(Option<Value>),
    Decline,
}

/// The choices of a question without fields.
pub(super) const YES_AND_NO: [&str; 2] = ["yes, go on", "no"];

impl Question {
    /// Parses a question. The error says why it cannot be asked.
    pub(crate) fn read(params: &ElicitRequestParams) -> Result<Self, String> {
        match params {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                Form::read(message, requested_schema).map(Self::Form)
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                Page::read(message, url).map(Self::Page)
            }
            _ => Err("it is neither a form nor a page".into()),
        }
    }

    /// Returns the question for the approver.
    pub(super) fn for_user(&self, session: &Arc<str>) -> UserQuestion {
        match self {
            Self::Form(form) => form.for_user(session),
            Self::Page(page) => page.for_user(session),
        }
    }

    /// Returns the reply for the server. The error says why the answer is invalid.
    pub(super) fn reply(&self, choice: Option<&str>, fields: &JsonObject) -> Result<Reply, String> {
        match self {
            Self::Form(form) => form.reply(choice, fields),
            Self::Page(page) => Ok(page.reply(choice)),
        }
    }
}

/// Returns a server's message as a quotation, each line of it marked.
pub(super) fn quoted(message: &str) -> String {
    let message = clean(message, MAX_MESSAGE_CHARS);
    message.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

/// Returns the warning above a question that seems to ask for secrets.
pub(super) fn warning(texts: &[&str]) -> Option<&'static str> {
    texts.iter().any(|text| secret_detection::is_about_secrets(text)).then_some(
        "Careful: this looks like a question for a secret. What you write goes to the server named above, as it is.",
    )
}
