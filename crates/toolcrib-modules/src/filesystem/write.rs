//! The tools `filesystem.write`, `filesystem.append` and `filesystem.mkdir`.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_io::Error;
use toolcrib_io::files::Root;
use toolcrib_model::ToolError;

use super::errors::{failed, invalid, tool_error};
use super::walk::relative;
use crate::blocking::Cancellation;

/// The maximum size of the content that one call writes, in bytes.
pub(crate) const MAX_WRITE_BYTES: usize = 4 * 1024 * 1024;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Write {
    /// The file, relative to the workspace.
    pub(super) path: String,
    /// The whole content of the file.
    content: String,
    /// True to create missing parent directories.
    #[serde(default)]
    create_parents: bool,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct WriteOutput {
    /// The file, relative to the workspace.
    path: String,
    /// Its new size, in bytes.
    bytes: u64,
    /// True if the file did not exist before.
    created: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Append {
    /// The file, relative to the workspace.
    pub(super) path: String,
    /// The text to append; no line break is added before it.
    content: String,
    /// True to create missing parent directories.
    #[serde(default)]
    create_parents: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Mkdir {
    /// The directory, relative to the workspace.
    pub(super) path: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct MkdirOutput {
    /// The directory, relative to the workspace.
    path: String,
    /// True if the directory did not exist before.
    created: bool,
}

pub(super) fn write(root: &Root, write: &Write, _stop: &Cancellation) -> Result<WriteOutput, ToolError> {
    let Write { path, content, create_parents } = write;
    write_with(root, path, content, *create_parents, || {
        root.write(path, content.as_bytes()).map(|()| content.len() as u64)
    })
}

pub(super) fn append(root: &Root, append: &Append, _stop: &Cancellation) -> Result<WriteOutput, ToolError> {
    let Append { path, content, create_parents } = append;
    write_with(root, path, content, *create_parents, || root.append(path, content.as_bytes()))
}

/// Writes a file by `act`, and first creates its parent directories if requested.
fn write_with(
    root: &Root,
    path: &str,
    content: &str,
    create_parents: bool,
    act: impl FnOnce() -> Result<u64, Error>,
) -> Result<WriteOutput, ToolError> {
    if content.len() > MAX_WRITE_BYTES {
        let message = format!("`content` has {} bytes, at most {MAX_WRITE_BYTES} are written", content.len());
        return Err(invalid(message).with_hint("write several smaller files, or append to one"));
    }
    let tool_error = |error| tool_error(root, error);
    let created = !root.exists(path).map_err(tool_error)?;
    let directory = Path::new(path).parent().filter(|directory| !directory.as_os_str().is_empty());
    if let Some(directory) = directory
        && create_parents
    {
        root.create_dir_all(directory).map_err(tool_error)?;
    }
    match (act(), directory) {
        (Ok(bytes), _) => Ok(WriteOutput { path: relative(root, path), bytes, created }),
        (Err(Error::NotFound { .. }), Some(directory))
            if root.exists(directory).is_ok_and(|exists| !exists) =>
        {
            let message =
                format!("cannot write `{path}`: the directory `{}` does not exist", directory.display());
            Err(failed(message).with_hint("set `create_parents` to true to create it"))
        }
        (Err(error), _) => Err(tool_error(error)),
    }
}

pub(super) fn mkdir(root: &Root, mkdir: &Mkdir, _stop: &Cancellation) -> Result<MkdirOutput, ToolError> {
    let path = &mkdir.path;
    let tool_error = |error| tool_error(root, error);
    let created = !root.exists(path).map_err(tool_error)?;
    root.create_dir_all(path).map_err(tool_error)?;
    Ok(MkdirOutput { path: relative(root, path), created })
}
