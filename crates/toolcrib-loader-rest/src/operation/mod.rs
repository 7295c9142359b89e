//! The operations of a document: what each takes, and how its calls are sent.

mod names;
mod path;
mod server;

mod arguments;
mod body;
mod form;
mod parameter;
mod swagger;

mod document;
mod found;
mod output;

#[cfg(test)]
mod tests;

use http::{HeaderValue, Method};
use toolcrib_model::Fingerprint;
use url::Url;

use crate::Error;
use crate::auth::Credentials;

pub(crate) use arguments::{BoundBody, BoundParameter, Shape};
pub(crate) use body::Encoding;
#[cfg(test)]
pub(crate) use document::read_document;
pub(crate) use document::{Reading, Setting, read_documents};
pub(crate) use form::Part;
pub(crate) use parameter::{Place, Style, Writing};
pub(crate) use path::{PathTemplate, Piece};
pub(crate) use server::{Base, check};

/// What the engine has to know of an operation.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) method: Method,
    pub(crate) path: PathTemplate,
    pub(crate) parameters: Vec<BoundParameter>,
    pub(crate) body: Option<BoundBody>,
    /// Where calls go, or why they cannot go anywhere.
    pub(crate) server: Result<Url, Error>,
    /// Whether two calls do no more than one.
    pub(crate) idempotent: bool,
    /// What the `Accept` header says.
    pub(crate) accept: HeaderValue,
    /// The credentials that its calls are sent with, made from its `security`.
    pub(crate) credentials: Credentials,
    /// The digest of the argument schema that the operation was loaded with.
    pub(crate) fingerprint: Fingerprint,
}
