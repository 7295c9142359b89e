//! A question that can be put.

use std::sync::Arc;

use rmcp::model::ElicitRequestParams;
use serde_json::Value;
use toolcrib_model::{JsonObject, UserQuestion};

use super::form::Form;
use super::page::Page;
use super::{MAX_MESSAGE_CHARS, secrecy};
use crate::text::clean;

/// What a server asks.
#[derive(Debug)]
pub(crate) enum Question {
    Form(Form),
    Page(Page),
}

/// What the user said.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    /// Yes, with what the server gets.
    Yes(Option<Value>),
    No,
}

/// The answers to a question without anything to fill in.
pub(super) const YES_AND_NO: [&str; 2] = ["yes, go on", "no"];

impl Question {
    /// Reads a question; what is wrong with it where it cannot be put.
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

    /// The question as a person is asked.
    pub(super) fn for_user(&self, session: &Arc<str>) -> UserQuestion {
        match self {
            Self::Form(form) => form.for_user(session),
            Self::Page(page) => page.for_user(session),
        }
    }

    /// What the server gets; what is wrong with the answer where it does not fit.
    pub(super) fn reply(&self, choice: Option<&str>, fields: &JsonObject) -> Result<Reply, String> {
        match self {
            Self::Form(form) => form.reply(choice, fields),
            Self::Page(page) => Ok(page.reply(choice)),
        }
    }
}

/// What a server says, each line set off from ours.
pub(super) fn said(message: &str) -> String {
    let message = clean(message, MAX_MESSAGE_CHARS);
    message.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

/// What we say of a question that wants secrets, above it.
pub(super) fn warning(texts: &[&str]) -> Option<&'static str> {
    texts.iter().any(|text| secrecy::is_about_secrets(text)).then_some(
        "Careful: this looks like a question for a secret. What you write goes to the server named above, as it is.",
    )
}
