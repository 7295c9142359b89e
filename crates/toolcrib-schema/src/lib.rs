//! JSON Schema for the arguments of tools: bounded compilation, validation, and errors that help the caller.
//!
//! A [`CompiledSchema`] never fetches anything: a `$ref` that leaves the schema is an error, and schemas cause no access to
//! files or the network. Patterns run on a linear-time engine. A schema that could take unbounded time is refused, and so
//! is a value that needs too much work.
//!
//! ```
//! use serde_json::json;
//! use toolcrib_schema::CompiledSchema;
//!
//! let schema = CompiledSchema::compile(&json!({
//!     "type": "object",
//!     "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
//!     "required": ["city"],
//! }))?;
//! assert!(schema.validate(&json!({"city": "Oslo"})).is_ok());
//!
//! let violations = schema.validate(&json!({"citty": "Oslo"})).unwrap_err();
//! assert_eq!(violations.to_string(), "`city` is missing; unknown argument `citty`, did you mean `city`?");
//! assert_eq!(schema.minimal_example(), Some(json!({"city": "text"})));
//! # Ok::<(), toolcrib_schema::Error>(())
//! ```

mod compiled;
mod contents;
mod error;
mod exclusive_bounds;
mod unchecked_patterns;
mod validator;

mod pattern_cost;
mod schema_cost;
mod validation_cost;
mod value_size;

mod argument_names;
mod invisible_characters;
pub mod repair;

mod example;
mod violation;

mod provider_profile;
pub mod typescript;

#[cfg(test)]
mod tests;

pub use compiled::CompiledSchema;
pub use contents::{BoundsCheck, MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES};
pub use error::Error;
pub use exclusive_bounds::with_numeric_bounds;
pub use invisible_characters::{HiddenCharacter, definition_without_hidden, visible_data, without_hidden};
pub use provider_profile::{Profile, Sent};
pub use repair::Repair;
pub use schema_cost::{MAX_REFERENCE_DEPTH, MAX_SCHEMA_CHECKS};
pub use unchecked_patterns::{Unchecked, is_small_pattern};
pub use validation_cost::MAX_VALUE_CHECKS;
pub use violation::{Violation, ViolationKind, Violations};
