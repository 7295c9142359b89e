//! The registry of tools.
//!
//! A [`ToolRegistry`] runs its loaders and publishes the loaded tools as a [`Snapshot`], which never changes: a
//! [`refresh`](ToolRegistry::refresh) builds a new snapshot and swaps it in. Readers take the current snapshot, never
//! wait, and never see half of a refresh.
//!
//! A snapshot finds tools by every spelling of their names ([`Snapshot::find`]), selects the overload that a call means
//! ([`Overloads::choose`]), and lists the tools that did not load, with reasons. An [`Enrichment`] computes an artifact
//! over all tools after each load, such as the [`Dataflow`](enrichment::Dataflow), and may add to tools what their
//! sources lack; subscribers receive each [`Change`].
//!
//! ```
//! use toolcrib_model::{QualifiedName, Tool};
//! use toolcrib_registry::ToolRegistry;
//!
//! let registry = ToolRegistry::from_tools("inline", [Tool::new(QualifiedName::new("files", "read")?)])?;
//! let snapshot = registry.snapshot();
//! for spelling in ["files::read", "files.read", "files__read", "read"] {
//!     assert!(snapshot.find(spelling, |_| true).is_ok());
//! }
//! assert_eq!(snapshot.namespaces().collect::<Vec<_>>(), ["files"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A session may add tools: [`SessionTools`] holds them, and [`ToolRegistry::snapshot_of`] returns the snapshot of one
//! session.
//!
//! The registry knows no specific source: the loaders for files, servers and documents are in other crates.

mod build;
mod change;
pub mod enrichment;
mod lookup;
mod registry;
pub mod session_tools;
pub mod shape;
mod snapshot;
mod sync;

#[cfg(test)]
mod tests;

pub use build::ToolSchema;
pub use change::{Change, ChangedTool};
pub use enrichment::{Artifacts, Enriched, Enrichment};
pub use lookup::{FindError, OverloadError, Overloads};
pub use registry::{InvalidTools, RefreshError, ToolRegistry};
pub use session_tools::SessionTools;
pub use shape::Shapes;
pub use snapshot::{Entry, Snapshot};
