//! The folders that the tools may access.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_io::files::Root;
use toolcrib_model::ToolError;

use super::errors::invalid;
use super::{ID, edit, find, grep, ls, move_copy_delete, read, stat, tree, write};
use crate::{Error, ModuleContext};

/// The maximum number of folders in addition to the workspace.
const MAX_ROOTS: usize = 16;

/// The configuration under `modules.filesystem.config`.
///
/// ```yaml
/// modules:
///   filesystem:
///     config:
///       # Folders outside of the workspace. Their files are named by absolute paths.
///       roots:
///         manuals: {path: /usr/share/doc}
///         out: {path: /srv/reports, mode: write}
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct FilesystemConfig {
    /// Folders outside of the workspace, by a name for models; at most 16. Their files are named by absolute paths.
    pub roots: BTreeMap<String, RootConfig>,
}

/// One entry of `roots`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RootConfig {
    /// The folder, as an absolute path or relative to the workspace.
    pub path: PathBuf,
    /// `write` lets tools change what is in it; otherwise they only read.
    #[serde(default)]
    pub mode: RootMode,
}

/// The rights of tools in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RootMode {
    /// Only read.
    #[default]
    Read,
    /// Read and write.
    Write,
}

/// The workspace, and the additional folders.
#[derive(Clone)]
pub(super) struct Roots {
    workspace: Root,
    others: Vec<Root>,
}

impl Roots {
    /// Returns the workspace alone.
    pub(super) fn of_workspace(root: &Root) -> Self {
        Self { workspace: root.clone(), others: Vec::new() }
    }

    /// Opens the folders of a configuration. Returns with them their description for models.
    pub(super) fn open(config: &FilesystemConfig, context: &ModuleContext) -> Result<(Self, String), Error> {
        let wrong = |message: String| Error::Config { module: ID, message };
        if config.roots.len() > MAX_ROOTS {
            let message = format!("there are {} `roots`, expected at most {MAX_ROOTS}", config.roots.len());
            return Err(wrong(message));
        }
        let (mut others, mut description) = (Vec::new(), String::new());
        for (name, entry) in &config.roots {
            let path = context.workspace.join(&entry.path);
            let root = context
                .root_outside_workspace(&path, entry.mode == RootMode::Write)
                .map_err(|error| wrong(format!("the root `{name}` cannot be used: {error}")))?;
            let may = if entry.mode == RootMode::Write { "may be changed" } else { "is only read" };
            let _ = write!(description, " `{name}` at {} {may}.", root.path().display());
            others.push(root);
        }
        Ok((Self { workspace: context.root(ID)?, others }, description))
    }

    /// Returns the folder of the files that the arguments of a call name.
    pub(super) fn of(&self, arguments: &impl PathArguments) -> Result<&Root, ToolError> {
        let (path, target) = (arguments.path(), arguments.target());
        let root = self.of_path(path);
        match target {
            Some(target) if !std::ptr::eq(self.of_path(target), root) => {
                Err(invalid(format!("`{path}` and `{target}` are in different folders"))
                    .with_hint("read the file, and write it to the other folder"))
            }
            _ => Ok(root),
        }
    }

    /// Returns the folder that contains a path; the workspace for all other paths.
    pub(super) fn of_path(&self, path: &str) -> &Root {
        let others = || self.others.iter().find(|root| root.spells(path));
        if self.workspace.spells(path) { &self.workspace } else { others().unwrap_or(&self.workspace) }
    }
}

/// The paths in the arguments of a tool.
pub(super) trait PathArguments {
    /// Returns the file or directory.
    fn path(&self) -> &str;

    /// Returns the target path of a move or a copy.
    fn target(&self) -> Option<&str> {
        None
    }
}

macro_rules! impl_path_arguments {
    ($($arguments:ty),* $(,)?) => {
        $(impl PathArguments for $arguments {
            fn path(&self) -> &str {
                &self.path
            }
        })*
    };
}

impl_path_arguments!(
    edit::Edit,
    find::Find,
    grep::Grep,
    ls::Ls,
    move_copy_delete::Delete,
    read::Read,
    stat::Stat,
    tree::Tree,
    write::Append,
    write::Mkdir,
    write::Write,
);

macro_rules! impl_target_arguments {
    ($($arguments:ty),* $(,)?) => {
        $(impl PathArguments for $arguments {
            fn path(&self) -> &str {
                &self.from
            }

            fn target(&self) -> Option<&str> {
                Some(&self.to)
            }
        })*
    };
}

impl_target_arguments!(move_copy_delete::Copy, move_copy_delete::Move);
