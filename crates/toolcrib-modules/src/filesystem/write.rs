//! `filesystem.write`, `filesystem.append` and `filesystem.mkdir`.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_io::Error;
use toolcrib_io::files::Root;
use toolcrib_model::ToolError;

use super::blocking::Stop;
use super::failure::{failed, failure, invalid};
use super::walk::relative;

/// The maximum size of the content that one call writes, in bytes.
pub const MAX_WRITE_BYTES: usize = 4 * 1024 * 1024;

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
pub(super) struct Written {
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
pub(super) struct Made {
    /// The directory, relative to the workspace.
    path: String,
    /// True if the directory did not exist before.
    created: bool,
}

pub(super) fn write(root: &Root, write: &Write, _stop: &Stop) -> Result<Written, ToolError> {
    let Write { path, content, create_parents } = write;
    put(root, path, content, *create_parents, || {
        root.write(path, content.as_bytes()).map(|()| content.len() as u64)
    })
}

pub(super) fn append(root: &Root, append: &Append, _stop: &Stop) -> Result<Written, ToolError> {
    let Append { path, content, create_parents } = append;
    put(root, path, content, *create_parents, || root.append(path, content.as_bytes()))
}

/// Writes a file by `act`, and first creates its parent directories if requested.
fn put(
    root: &Root,
    path: &str,
    content: &str,
    create_parents: bool,
    act: impl FnOnce() -> Result<u64, Error>,
) -> Result<Written, ToolError> {
    if content.len() > MAX_WRITE_BYTES {
        let message = format!("`content` has {} bytes, at most {MAX_WRITE_BYTES} are written", content.len());
        return Err(invalid(message).with_hint("write several smaller files, or append to one"));
    }
    let failure = |error| failure(root, error);
    let created = !root.exists(path).map_err(failure)?;
    let directory = Path::new(path).parent().filter(|directory| !directory.as_os_str().is_empty());
    if let Some(directory) = directory
        && create_parents
    {
        root.create_dir_all(directory).map_err(failure)?;
    }
    match (act(), directory) {
        (Ok(bytes), _) => Ok(Written { path: relative(root, path), bytes, created }),
        (Err(Error::NotFound { .. }), Some(directory))
            if root.exists(directory).is_ok_and(|exists| !exists) =>
        {
            let message =
                format!("cannot write `{path}`: the directory `{}` does not exist", directory.display());
            Err(failed(message).with_hint("set `create_parents` to true to create it"))
        }
        (Err(error), _) => Err(failure(error)),
    }
}

pub(super) fn mkdir(root: &Root, mkdir: &Mkdir, _stop: &Stop) -> Result<Made, ToolError> {
    let path = &mkdir.path;
    let failure = |error| failure(root, error);
    let created = !root.exists(path).map_err(failure)?;
    root.create_dir_all(path).map_err(failure)?;
    Ok(Made { path: relative(root, path), created })
}
