//! The operations of a document: what each takes, and how its calls are sent.

mod names;
mod path;
mod server;

mod arguments;
mod body;
mod parameter;

mod document;
mod output;

#[cfg(test)]
mod tests;

use http::{HeaderValue, Method};
use toolcrib_model::Fingerprint;
use url::Url;

use crate::Error;

pub(crate) use arguments::{BoundBody, BoundParameter, Shape};
pub(crate) use body::{Encoding, Part};
pub(crate) use document::{Reading, Setting, read_document};
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
    /// What the `Accept` header says.
    pub(crate) accept: HeaderValue,
    /// The digest of the argument schema that the operation was loaded with.
    pub(crate) fingerprint: Fingerprint,
}
