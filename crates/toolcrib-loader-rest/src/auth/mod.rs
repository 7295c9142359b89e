//! Who calls are made as: credentials, where in a request they go, and to whom.
//!
//! A credential is written into a request after everything else, and only when the request goes to the origin that the
//! credential is for. The document says where in a request it goes, never to whom. What a document or a model puts into
//! the same slot is dropped.

mod credential;
mod slot;

mod bound;
mod ready;
mod token;

#[cfg(test)]
mod tests;

pub use credential::{ClientCredentials, Credential, CredentialKind, KeyPlace};

pub(crate) use bound::{BoundAuth, Credentials};
pub(crate) use ready::{Auth, Sent};
pub(crate) use slot::Slot;
pub(crate) use token::MAX_TOKEN_ANSWER_BYTES;
