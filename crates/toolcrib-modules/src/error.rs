//! Why a built-in module cannot be had.

use std::path::PathBuf;

/// Why a built-in module cannot be had. What its tools fail of is a [`ToolError`](toolcrib_model::ToolError).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No built-in module has this id.
    #[error("there is no built-in module `{id}`; there are {}", crate::names().join(", "))]
    UnknownModule {
        /// The id that was asked for.
        id: String,
    },
    /// What an app file says under `config` of the module fits its type, and cannot be used all the same.
    #[error("module `{module}`: {message}")]
    Config {
        /// The module.
        module: &'static str,
        /// What is wrong with it, and what to do.
        message: String,
    },
    /// The directory that the module works in is not there.
    #[error(
        "module `{module}` works in {}, which does not exist; create it, or set `app.workspace` to a directory that does",
        workspace.display()
    )]
    WorkspaceMissing {
        /// The module.
        module: &'static str,
        /// The workspace.
        workspace: PathBuf,
    },
    /// The directory that the module works in is there but cannot be opened, or is no directory.
    #[error("module `{module}` cannot work in {}: {source}; set `app.workspace` to a directory that can be read", workspace.display())]
    WorkspaceUnusable {
        /// The module.
        module: &'static str,
        /// The workspace.
        workspace: PathBuf,
        /// Why not.
        source: toolcrib_io::Error,
    },
}
