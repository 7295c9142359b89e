//! The tools `filesystem.move`, `filesystem.copy` and `filesystem.delete`.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_io::Error;
use toolcrib_io::files::{self, Existing, Root};
use toolcrib_model::ToolError;

use super::errors::{failed, invalid, tool_error};
use super::ls::Kind;
use super::size_budget::count_were;
use super::walk::{Walk, join, relative};
use crate::blocking::Cancellation;

/// The maximum number of bytes that one call copies, of all files together.
const MAX_COPY_BYTES: u64 = 256 * 1024 * 1024;

/// The maximum number of entries that one call copies or removes.
pub(crate) const MAX_CHANGED_ENTRIES: usize = 10_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Move {
    /// The file or directory, relative to the workspace.
    pub(super) from: String,
    /// Its new path, relative to the workspace.
    pub(super) to: String,
    /// True to replace a file that exists.
    #[serde(default)]
    overwrite: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Copy {
    /// The file, relative to the workspace; a directory only with `recursive`.
    pub(super) from: String,
    /// The path of the copy, relative to the workspace.
    pub(super) to: String,
    /// True to replace a file that exists.
    #[serde(default)]
    overwrite: bool,
    /// True to copy a directory with all that is in it.
    #[serde(default)]
    recursive: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Delete {
    /// The file or symlink, relative to the workspace; a directory only with `recursive`.
    pub(super) path: String,
    /// True to delete a directory with all that is in it.
    #[serde(default)]
    recursive: bool,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct MoveOutput {
    /// The previous path, relative to the workspace.
    from: String,
    /// The new path, relative to the workspace.
    to: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct CopyOutput {
    /// The path of the original, relative to the workspace.
    from: String,
    /// The path of the copy, relative to the workspace.
    to: String,
    /// The number of copied files.
    files: usize,
    /// Their size, in bytes.
    bytes: u64,
    /// Notes on omitted content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct DeleteOutput {
    /// The deleted path, relative to the workspace.
    path: String,
    /// The kind of the deleted entry.
    kind: Kind,
    /// The number of deleted files, directories and symlinks.
    entries: usize,
}

pub(super) fn rename(root: &Root, moving: &Move, _stop: &Cancellation) -> Result<MoveOutput, ToolError> {
    let (from, to) = (entry_path(root, "from", &moving.from)?, entry_path(root, "to", &moving.to)?);
    root.rename(&moving.from, &moving.to, existing(moving.overwrite))
        .map_err(|error| at_target(root, &moving.to, moving.overwrite, error))?;
    Ok(MoveOutput { from, to })
}

pub(super) fn copy(root: &Root, copy: &Copy, stop: &Cancellation) -> Result<CopyOutput, ToolError> {
    let (from, to) = (entry_path(root, "from", &copy.from)?, entry_path(root, "to", &copy.to)?);
    let mut copied = CopyOutput { from, to, files: 0, bytes: 0, notes: Vec::new() };
    if root.metadata(&copy.from).map_err(|error| tool_error(root, error))?.kind != files::Kind::Directory {
        copied.add(root, &copy.from, &copy.to, copy.overwrite)?;
        return Ok(copied);
    }
    if !copy.recursive {
        let message = format!("`{}` is a directory", copied.from);
        return Err(failed(message).with_hint("set `recursive` to true to copy all that is in it"));
    }
    if let Err(error @ Error::OutsideRoot { .. }) = root.exists(&copy.to) {
        return Err(tool_error(root, error));
    }
    if Path::new(&copied.to).starts_with(&copied.from) {
        let message = format!("`{}` is inside of `{}`, which was to be copied", copied.to, copied.from);
        return Err(invalid(message).with_hint("copy it to another directory"));
    }
    copied.tree(root, copy, stop)?;
    Ok(copied)
}

pub(super) fn delete(root: &Root, delete: &Delete, stop: &Cancellation) -> Result<DeleteOutput, ToolError> {
    let tool_error = |error| tool_error(root, error);
    let path = entry_path(root, "path", &delete.path)?;
    let kind = root.symlink_metadata(&delete.path).map_err(tool_error)?.kind;
    if kind != files::Kind::Directory {
        root.remove(&delete.path).map_err(tool_error)?;
        return Ok(DeleteOutput { path, kind: kind.into(), entries: 1 });
    }
    if !delete.recursive {
        let message = format!("`{path}` is a directory");
        return Err(failed(message).with_hint("set `recursive` to true to delete all that is in it"));
    }
    let removed = root.remove_tree(&delete.path, MAX_CHANGED_ENTRIES, &|| stop.check().is_ok());
    stop.check()?;
    Ok(DeleteOutput { path, kind: kind.into(), entries: removed.map_err(tool_error)? })
}

impl CopyOutput {
    /// Copies one file.
    fn add(&mut self, root: &Root, from: &str, to: &str, overwrite: bool) -> Result<(), ToolError> {
        let left = MAX_COPY_BYTES.saturating_sub(self.bytes);
        self.bytes += root.copy(from, to, left, existing(overwrite)).map_err(|error| match error {
            Error::TooLarge { .. } => failed(format!(
                "there is more to copy than the {MAX_COPY_BYTES} bytes of one call; {} copied before `{from}`",
                count_were(self.files, "file", "files")
            )),
            error => at_target(root, to, overwrite, error),
        })?;
        self.files += 1;
        Ok(())
    }

    /// Copies a directory with its content. Entries that are not files or directories are omitted.
    fn tree(&mut self, root: &Root, copy: &Copy, stop: &Cancellation) -> Result<(), ToolError> {
        let tool_error = |error| tool_error(root, error);
        // Counts the entries first, so that a directory over the maximum is not copied in part.
        let mut walk = Walk::of_all(root, &copy.from, stop)?;
        let mut entries = Vec::new();
        while let Some(found) = walk.next()? {
            entries.push((found.below, found.kind));
            if entries.len() > MAX_CHANGED_ENTRIES {
                let message = format!("`{}` has more than {MAX_CHANGED_ENTRIES} entries", self.from);
                return Err(failed(message).with_hint("copy the directories in it one by one"));
            }
        }
        self.notes = walk.notes();
        root.create_dir_all(&copy.to).map_err(tool_error)?;
        let mut others = 0;
        for (below, kind) in entries {
            stop.check()?;
            let (from, to) = (join(&self.from, &below), join(&self.to, &below));
            match kind {
                files::Kind::Directory => root.create_dir_all(&to).map_err(tool_error)?,
                files::Kind::File => self.add(root, &from, &to, copy.overwrite)?,
                files::Kind::Symlink | files::Kind::Other => others += 1,
            }
        }
        if others > 0 {
            self.notes.push(format!("{} left out: not files", count_were(others, "entry", "entries")));
        }
        Ok(())
    }
}

fn existing(overwrite: bool) -> Existing {
    if overwrite { Existing::Replace } else { Existing::Keep }
}

/// Returns a path as results show it. Refuses the workspace itself, which cannot be moved, copied or deleted.
fn entry_path(root: &Root, argument: &str, path: &str) -> Result<String, ToolError> {
    let named = relative(root, path);
    if named.is_empty() {
        let message =
            format!("`{argument}` is the workspace itself, which cannot be moved, copied or deleted");
        return Err(invalid(message).with_hint("name an entry of it"));
    }
    Ok(named)
}

/// Converts an error of creating an entry at `to`.
fn at_target(root: &Root, to: &str, overwrite: bool, error: Error) -> ToolError {
    use std::io::ErrorKind::{AlreadyExists, CrossesDevices, InvalidInput};
    match error {
        Error::FileFailed { ref source, .. } if source.kind() == AlreadyExists && !overwrite => {
            failed(format!("there is already something at `{to}`"))
                .with_hint("set `overwrite` to true to replace a file, or use another path")
        }
        Error::FileFailed { ref source, .. } if source.kind() == CrossesDevices => {
            failed(format!("`{to}` is on another file system"))
                .with_hint("copy it there with `filesystem.copy`, and delete it here")
        }
        Error::FileFailed { ref source, .. } if source.kind() == InvalidInput => {
            failed(format!("`{to}` is inside of what was to be moved")).with_hint("use another path")
        }
        // `NotFound` contains the path that was given first, which may not be the missing one.
        Error::NotFound { ref path } if path == to => match Path::new(to).parent().map(Path::to_string_lossy)
        {
            Some(directory) if !directory.is_empty() => {
                failed(format!("the directory `{directory}` does not exist"))
                    .with_hint("`filesystem.mkdir` creates it")
            }
            _ => tool_error(root, error),
        },
        error => tool_error(root, error),
    }
}
