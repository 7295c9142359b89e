//! Known secrets, and their redaction in texts and values.

mod redactor;
mod secrets;

pub use redactor::{MIN_SECRET_BYTES, Redactor};
pub use secrets::{RedactingWriter, Secrets, TOKEN_PREFIXES, is_secret};
