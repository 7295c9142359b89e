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

pub mod limits {
    //! Limits of schemas, and of the cost of a validation.

    /// The deepest nesting of a schema.
    pub const MAX_SCHEMA_DEPTH: usize = 128;

    /// The most values in a schema: objects, lists and scalars. The largest public ones have some 20,000.
    pub const MAX_SCHEMA_NODES: u64 = 30_000;

    /// The most checks of one value, counted over everything that applies to it at once (`$ref`, `allOf`, `anyOf`,
    /// `oneOf`, `not`, `if`), with shared parts counted as often as they apply. Real schemas need a few hundred.
    pub const MAX_SCHEMA_CHECKS: u64 = 200_000;

    /// The longest way from part to part of a schema, through references too: the validator recurses along it.
    pub const MAX_REFERENCE_DEPTH: u64 = 128;

    /// The most steps that the check of one value may take: a part of the schema on a part of the value, a comparison
    /// with a listed value, some bytes of a text against a pattern. A value that needs more is refused.
    pub const MAX_VALUE_CHECKS: u64 = 100_000;
}

#[cfg(test)]
mod tests;

pub use compiled::CompiledSchema;
pub use contents::BoundsCheck;
pub use error::Error;
pub use exclusive_bounds::with_numeric_bounds;
pub use invisible_characters::{HiddenCharacter, definition_without_hidden, visible_data, without_hidden};
pub use provider_profile::{Profile, Sent};
pub use repair::Repair;
pub use unchecked_patterns::{Unchecked, is_small_pattern};
pub use violation::{Violation, ViolationKind, Violations};
