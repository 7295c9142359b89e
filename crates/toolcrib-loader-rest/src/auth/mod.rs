//! Authentication of calls: credentials, their slots in a request, and the origins they are sent to.
//!
//! A credential is written into a request last, and only if the request goes to the origin of the credential. The
//! document determines the slot but never the recipient. Values that a document or a model puts into the same slot are
//! dropped.

mod credential;
mod slot;

mod assignment;
mod logins;
mod request_auth;

#[cfg(test)]
mod tests;

pub use credential::{Credential, CredentialKind, KeyLocation};

pub(crate) use assignment::{BoundAuth, Credentials};
pub(crate) use logins::Logins;
pub(crate) use request_auth::{Auth, Caller, SentCredentials, SourceAccess, key_slot};
pub(crate) use slot::Slot;
