//! The settings of modules that are programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toolcrib_model::Secret;
use toolcrib_policy::Access;

use crate::ProgramSandbox;

/// The settings of an [`ExecModule`](crate::ExecModule) or a [`WorkerModule`](crate::worker::WorkerModule).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ModuleSettings {
    /// The namespace of the tools. The default is the name that the manifest or the worker gives.
    pub namespace: Option<String>,
    /// The directory for the programs to work in, `TOOLCRIB_WORKSPACE`.
    pub workspace: Option<PathBuf>,
    /// Variables of the programs. The manifest cannot change them.
    pub env: BTreeMap<String, Secret>,
    /// The programs that may be started. The default is all.
    pub access: Access,
    /// The restrictions of the programs; none if absent.
    pub sandbox: Option<ProgramSandbox>,
}

impl ModuleSettings {
    /// Returns the workspace as the value of `TOOLCRIB_WORKSPACE`.
    pub(crate) fn workspace_text(&self) -> Option<String> {
        self.workspace.as_deref().map(|workspace| absolute(workspace).display().to_string())
    }
}

/// Returns the absolute path, since programs start in another folder.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
