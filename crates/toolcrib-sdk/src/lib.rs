//! A Rust function becomes a tool.
//!
//! A [`Module`] is a namespace of [`FunctionTool`]s. It is both the loader of its tools and their engine, so an app
//! takes it as one source. The schema of the arguments is made from their type, whose doc comments are the
//! descriptions that a model reads.
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use toolcrib_model::{Risk, ToolError};
//! use toolcrib_sdk::{FunctionTool, Module};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Greet {
//!     /// Who is greeted.
//!     name: String,
//! }
//!
//! let module = Module::new("hello", "Greets people.").with_tool(
//!     FunctionTool::new("say_hello", "Greets one person.", |greet: Greet, _context| async move {
//!         Ok::<_, ToolError>(format!("Hello, {}!", greet.name))
//!     })
//!     .with_risk(Risk::Low)
//!     .with_aliases(["dire bonjour"]),
//! );
//! assert_eq!(module.id(), "hello");
//! ```
//!
//! Arguments are validated against the schema before a function sees them. It decides nothing about who may call.

mod function;
mod module;

#[cfg(test)]
mod tests;

pub use function::FunctionTool;
pub use module::Module;
pub use toolcrib_port::CallContext;
