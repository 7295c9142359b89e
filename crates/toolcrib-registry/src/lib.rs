//! The store of tools.
//!
//! A [`ToolRegistry`] runs its loaders and holds what they found as a [`Snapshot`] that never changes: a
//! [`refresh`](ToolRegistry::refresh) builds a new one beside it and swaps it in. Readers take the snapshot that is
//! current, never wait, and never see half of a refresh.
//!
//! A snapshot looks tools up by every spelling of their names ([`Snapshot::find`]), knows which overload a call means
//! ([`Overloads::choose`]), and keeps what did not load with the reason. [`Enrichment`]s work something out over all
//! tools after each load, such as the [`Dataflow`]; a subscriber gets each [`Change`].
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
//! A session may have tools of its own besides: [`SessionTools`] holds them, and [`ToolRegistry::snapshot_of`] gives the
//! snapshot of one session.
//!
//! It knows no source: files, servers and documents are loaders, brought by others.

mod registry;
mod snapshot;

mod build;
mod parallel;
mod plain;
mod same;
mod schema;
mod session_tools;
mod sync;
mod visible;

mod find;
mod overloads;
mod spellings;

mod change;

mod artifacts;
mod dataflow;
mod enrichment;

#[cfg(test)]
mod tests;

pub use artifacts::{Artifact, Artifacts};
pub use change::{Change, ChangedTool};
pub use dataflow::{Dataflow, DataflowEnrichment, MAX_SUPPLIERS, Supplier};
pub use enrichment::{Enrichment, EnrichmentError};
pub use find::{FindError, MAX_SUGGESTIONS};
pub use overloads::{MAX_REPAIRED_OVERLOADS, OverloadError, Overloads};
pub use registry::{InvalidTools, LOAD_TIMEOUT, MAX_PENDING_CHANGES, RefreshError, ToolRegistry};
pub use schema::ToolSchema;
pub use session_tools::{
    AddedTools, MAX_SESSION_SOURCES, MAX_SESSION_TOOLS, SessionSource, SessionTools, SessionToolsError,
};
pub use snapshot::{Entry, MAX_WARNINGS, Snapshot};
