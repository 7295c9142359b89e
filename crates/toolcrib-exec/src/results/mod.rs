//! What becomes of a result before anybody reads it.
//!
//! [`Results::shape`] does all of it, in this order: what nests too deep is cut off, what does not fit the tool's own
//! schema is flagged, known secrets are taken out, binary data becomes a handle, and what is still too large becomes a
//! preview with a handle: its shape, the first of it, and how `read_result` is asked for the rest. Other systems cut the text, which leaves broken JSON, or
//! spill it to a file that somebody has to be allowed to read.
//!
//! - [`ResultLimits`] says how much a reader is given; a tool may ask for more or less in its metadata under
//!   `max_result_tokens`.
//! - A handle is 128 random bits and belongs to the session, agent and user whose call made it; for anybody else it is as
//!   if it never was. Those of a session may be [kept in a folder](Results::keep_in) beyond the process.
//! - [`Secrets`] collects what must not be said, and [`Redactor`] takes it out, of logs too.

mod limits;
mod shape;

pub(crate) mod bound;
mod ends;
mod measure;
mod outline;
mod preview;
mod summary;
mod table;
mod tokens;
mod words;

mod binary;
mod folder;
mod output;
mod redact;
mod secrets;
mod store;

mod keep;

mod answer;
mod figures;
mod grep;
mod jq;
mod jsonpath;
mod lines;
mod pages;
mod read;
mod readable;
mod rows;
mod seek;

#[cfg(test)]
mod tests;

pub use limits::{
    DEFAULT_RESULT_TOKENS, KEPT_FOR, MAX_CHECKED_RESULT_BYTES, MAX_FULL_RESULT_BYTES, MAX_KEPT_BYTES,
    MAX_KEPT_RESULT_BYTES, MAX_KEPT_RESULTS, MAX_KEPT_SESSION_BYTES, MAX_KEPT_SESSION_RESULTS,
    MAX_RESULT_DEPTH, MAX_RESULT_TOKENS, MIN_RESULT_TOKENS, PREVIEW_TOKENS, ResultLimits,
};
pub use read::tools;
pub use redact::{MIN_SECRET_BYTES, Redactor};
pub use secrets::{MAX_SECRETS, RedactingWriter, Secrets, is_secret};
pub use shape::Results;
pub use tokens::TokenCounter;
