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
//! Nothing here does I/O, is async, or reads a clock. [`random_bytes`] alone asks the operating system.

mod name;
mod text;
mod tool;

mod amount;
mod call;
mod error;
mod result;
mod user_question;

mod call_scope;
mod load_outcome;
mod random;
mod secret;

#[cfg(test)]
mod tests;

pub use amount::{Amount, Resource};
pub use call::ToolCall;
pub use call_scope::{CallScope, MAX_SCOPE_ENTRIES, MAX_SCOPE_KEY_BYTES, MAX_SCOPE_VALUE_BYTES, ScopeError};
pub use error::{DENIAL_HINT, ErrorKind, ToolError};
pub use load_outcome::{LoadOutcome, Reject, RejectKind};
pub use name::{
    MAX_NAME_CHARS, NAMESPACE_SEPARATOR, NameError, QualifiedName, RUNTIME_NAMESPACE, SCHEDULER_NAMESPACE,
};
pub use random::{NoRandomNumbers, hex, random_bytes};
pub use result::ToolResult;
pub use result::media::{Media, MediaHandle, media_handles};
pub use result::notes::ResultNote;
pub use secret::Secret;
pub use text::canonical::{ExactIntegers, canonical_json, canonical_json_with};
pub use text::invisible::{clean_text, is_hidden, is_invisible, is_joiner, visible_text};
pub use text::json::{AnySeed, kind_of, pointer_part, string_end};
pub use text::truncate::{ellipsize_bytes, ellipsize_chars, truncate_bytes, truncate_chars};
pub use text::words::words_of_name;
pub use tool::equivalent::EquivalentCall;
pub use tool::fingerprint::{Fingerprint, ParseFingerprintError};
pub use tool::risk::Risk;
pub use tool::schema::{Definition, PerDefinition, Rewritten, Schema, SharedDefinitions};
pub use tool::traits::{Cacheable, DeferredCall, DiscoveryStep, Forwarding, Presence, ToolTraits};
pub use tool::{Tool, ToolFormError};
pub use user_question::{FieldKind, FormField, UserAnswer, UserQuestion};

/// A JSON object, keys in the order in which they were written.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
