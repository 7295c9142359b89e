//! The processing of results before a reader sees them, and their storage.
//!
//! [`Results::shape`] does all of it, in this order: values that nest too deep are cut off, violations of the tool's
//! output schema are flagged, known secrets are redacted, binary data becomes a handle, and a result that is still too
//! large becomes a preview with a handle: its shape, its beginning, and the arguments of `read_result` for the rest.
//! Other systems truncate the text, which leaves broken JSON, or write it to a file that the model needs permission to
//! read.
//!
//! - [`ResultLimits`] holds the sizes of results for readers; a tool may ask for more or less in its metadata under
//!   `max_result_tokens`.
//! - A handle is 128 random bits and belongs to the session, agent and user of the call that made it; for anyone else
//!   it does not exist. The handles of a session may be [stored in a folder](Results::store_in) beyond the process.
//! - [`Secrets`] collects secrets, and [`Redactor`] removes them from results and logs.
//! - [`tools`] returns the tool `read_result`, which pages, searches, and queries stored results.
//!
//! ```
//! use serde_json::json;
//! use toolcrib_model::ToolResult;
//! use toolcrib_port::CallContext;
//! use toolcrib_results::{ResultLimits, Results};
//!
//! let results = Results::new(ResultLimits::new(500));
//! let log = ToolResult::ok(None, "app::log", json!("started\n".repeat(1_000)));
//! let log = results.shape(log, None, &CallContext::new("session"));
//! assert!(log.metadata.contains_key("handle"));
//! assert!(log.result.to_string().len() < 4_000);
//! ```

mod error_limit;
mod json_size;
pub mod limits;
mod output_schema;
mod preview;
mod process;
mod projection;
mod read_result;
mod redaction;
mod store;
mod text;
mod tokens;

#[cfg(test)]
mod tests;

pub use limits::{
    MAX_CHECKED_RESULT_BYTES, MAX_RESULT_TOKENS, MIN_RESULT_TOKENS, PREVIEW_TOKENS, ResultLimits,
};
pub use process::Results;
pub use projection::{Projections, check_expression};
pub use read_result::name::READ_RESULT;
pub use read_result::tools;
pub use redaction::{MIN_SECRET_BYTES, RedactingWriter, Redactor, Secrets, TOKEN_PREFIXES, is_secret};
pub use store::archive::ResultArchive;
pub use tokens::TokenCounter;
