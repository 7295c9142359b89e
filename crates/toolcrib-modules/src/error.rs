//! The errors of creating a built-in module.

use std::path::PathBuf;

/// An error of creating a built-in module. Failures of its tools are [`ToolError`](toolcrib_model::ToolError)s.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No built-in module has this id.
    #[error("there is no built-in module `{id}`; there are {}", crate::names().join(", "))]
    UnknownModule {
        /// The requested id.
        id: String,
    },
    /// The value under `config` of the module has the right type, but cannot be used.
    #[error("module `{module}`: {message}")]
    Config {
        /// The module.
        module: &'static str,
        /// The problem, and the next step.
        message: String,
    },
    /// The working directory of the module does not exist.
    #[error("module `{module}` works in {}, which does not exist; create it", workspace.display())]
    WorkspaceMissing {
        /// The module.
        module: &'static str,
        /// The workspace.
        workspace: PathBuf,
    },
    /// The working directory of the module exists, but cannot be opened or is not a directory.
    #[error("module `{module}` cannot work in {}: {source}", workspace.display())]
    WorkspaceUnusable {
        /// The module.
        module: &'static str,
        /// The workspace.
        workspace: PathBuf,
        /// The cause.
        source: toolcrib_io::Error,
    },
}
