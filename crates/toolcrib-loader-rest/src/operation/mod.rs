//! The operations of a document: their arguments, and the data for sending their calls.

mod names;
mod path;
mod server;

mod arguments;
mod body;
mod form;
mod parameter;
mod swagger;

mod document;
mod response;
mod spec_operation;

#[cfg(test)]
mod tests;

use http::{HeaderValue, Method};
use toolcrib_model::Fingerprint;
use url::Url;

use crate::Error;
use crate::auth::Credentials;

pub(crate) use arguments::{BodyShape, BoundBody, BoundParameter};
pub(crate) use body::Encoding;
#[cfg(test)]
pub(crate) use document::read_document;
pub(crate) use document::{ConversionSettings, ConvertedDocument, read_documents};
pub(crate) use form::MultipartField;
pub(crate) use parameter::{ParameterLocation, Serialization, Style};
pub(crate) use path::{PathTemplate, Piece};
pub(crate) use server::{ServerSettings, check};

/// The data of an operation that the engine needs.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) method: Method,
    pub(crate) path: PathTemplate,
    pub(crate) parameters: Vec<BoundParameter>,
    pub(crate) body: Option<BoundBody>,
    /// The server of the calls, or the reason why it is unknown.
    pub(crate) server: Result<Url, Error>,
    /// True if repeating a call has no further effect.
    pub(crate) idempotent: bool,
    /// The value of the `Accept` header.
    pub(crate) accept: HeaderValue,
    /// The credentials of its calls, selected by its `security`.
    pub(crate) credentials: Credentials,
    /// The digest of the argument schema that the operation was loaded with.
    pub(crate) fingerprint: Fingerprint,
}
