//! The discovery meta-tools, by which a model finds tools that it is not shown.
//!
//! [`Discovery`] answers within one caller's policy: matches of a query, categories, and the parameters of a tool.
//! [`module`] offers the same to models as five tools in the namespace `context_builder`: `search_tools`, `get_tool`,
//! `execute_tool`, `list_categories` and `browse_category`. `execute_tool` passes its call to the tool executor, so the
//! inner tool is resolved, authorized and validated like any other, and its result is returned.
//!
//! ```
//! use std::sync::Arc;
//! use toolcrib_meta::Discovery;
//! use toolcrib_model::{QualifiedName, Tool};
//! use toolcrib_policy::{Capabilities, Policy, Principal};
//! use toolcrib_registry::ToolRegistry;
//!
//! let read = Tool::new(QualifiedName::new("files", "read")?).with_description("Reads a text file.");
//! let registry = Arc::new(ToolRegistry::from_tools("inline", [read])?);
//! let policy = Arc::new(Policy::new(&Capabilities::default(), [])?);
//! let discovery = Discovery::new(&registry, policy);
//! let found = discovery.search("please read a file", 5, Principal::new("session"))?;
//! assert_eq!(found.results[0].name, "files.read");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`lint`] reports tools that a model cannot tell apart, find or afford, with remedies.
//!
//! A tool that policy denies is not found, not listed and not described.
//!
//! Lists show tools as signatures, a search within a number of bytes for each tool; `get_tool` shows
//! parameters within [`MAX_SHOWN_BYTES`], and selects deeper parts by their paths. Categories and their tools are
//! returned by [`Page`].

mod discovery;
mod index;
pub mod names;
mod source_notes;

mod schema;
mod summary;
mod type_notation;

mod categories;
mod schema_view;
mod search;
mod signature;
mod tool_card;
mod tools;

pub mod lint;

#[cfg(test)]
mod tests;

pub use categories::{Category, Page};
pub use discovery::Discovery;
pub use search::{FoundTool, SearchResults};
pub use tool_card::{MAX_SHOWN_BYTES, ToolCard, ToolDetail, ToolForm};
pub use tools::module;
