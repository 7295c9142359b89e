//! A question to the user.

use std::sync::Arc;

use rmcp::model::ElicitRequestParams;
use toolcrib_model::{JsonObject, UserQuestion};

use super::form::Form;
use super::page::Page;
use super::reply::Reply;

/// A question of a server.
#[derive(Debug)]
pub(crate) enum Question {
    Form(Form),
    Page(Page),
}

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
