//! The discovery meta-tools: how a model finds a tool that it is not shown.
//!
//! [`Discovery`] answers for one caller's policy: what fits a query, what categories there are, what one tool takes.
//! [`module`] offers the same to models as five tools in the namespace `context_builder`: `search_tools`, `get_tool`,
//! `execute_tool`, `list_categories` and `browse_category`. `execute_tool` gives its call to the one entrance, so the
//! tool inside is resolved, gated and validated like any other, and its result is what comes back.
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
//! A tool that policy denies is not found, not listed and not described.

mod discovery;
mod index;
mod missing;

mod describe;
mod tools;

#[cfg(test)]
mod tests;

pub use describe::{ToolCard, ToolForm};
pub use discovery::{Category, Discovery, Found, FoundTool, MAX_PAGE_SIZE, Page};
pub use tools::module;
