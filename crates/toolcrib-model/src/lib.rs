//! The data types that all other crates of Toolcrib share: tools, names, calls, results and errors.
//!
//! ```
//! use serde_json::json;
//! use toolcrib_model::{QualifiedName, Tool};
//!
//! let tool = Tool::new(QualifiedName::new("weather_api", "get_weather")?)
//!     .with_description("Current weather of a place.")
//!     .with_parameters(json!({"type": "object", "properties": {"location": {"type": "string"}}}));
//! assert_eq!(tool.name.to_string(), "weather_api::get_weather");
//! assert_eq!(tool.name.dotted(), "weather_api.get_weather");
//! assert_eq!(tool.fingerprint().to_string().len(), 64);
//! # Ok::<(), toolcrib_model::NameError>(())
//! ```
//!
//! Nothing here does I/O, is async, or reads a clock. [`random_bytes`](random::random_bytes) alone asks the operating
//! system.

pub mod name;
pub mod text;
pub mod tool;

mod amount;
mod call;
mod error;
pub mod result;
mod user_question;

pub mod call_scope;
mod load_outcome;
pub mod random;
mod secret;
mod subject_token;

#[cfg(test)]
mod tests;

pub use amount::{Amount, Resource};
pub use call::ToolCall;
pub use call_scope::{CallScope, ScopeError};
pub use error::{DENIAL_HINT, ErrorKind, NOT_ENOUGH_APPROVALS_HINT, ToolError};
pub use load_outcome::{LoadOutcome, Reject, RejectKind};
pub use name::{NameError, QualifiedName};
pub use result::ToolResult;
pub use result::notes::{ClientContent, ResultNote};
pub use secret::Secret;
pub use subject_token::SubjectToken;
pub use tool::Tool;
pub use tool::fingerprint::Fingerprint;
pub use tool::risk::Risk;
pub use tool::schema::Schema;
pub use tool::traits::ToolTraits;
pub use user_question::{FieldKind, FormField, UserAnswer, UserQuestion};

/// A JSON object, keys in the order in which they were written.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
