//! The tool `filesystem.find`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_io::files::{Kind, Root};
use toolcrib_model::ToolError;

use super::glob::{Glob, MAX_PATTERN_BYTES};
use super::size_budget::SizeBudget;
use super::walk::Walk;
use super::workspace_root;
use crate::blocking::Cancellation;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Find {
    /// A glob. Without a `/` it fits names at every depth, as `*.md`; with one it fits paths relative to `path`, as
    /// `docs/**/*.md`.
    #[schemars(length(min = 1, max = MAX_PATTERN_BYTES))]
    pattern: String,
    /// The directory to look in, relative to the workspace; the workspace itself by default.
    #[serde(default = "workspace_root")]
    pub(super) path: String,
    /// True to include files that `.gitignore` leaves out, and `.git`.
    #[serde(default)]
    include_ignored: bool,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Paths {
    /// The matching paths, relative to the workspace, sorted by name. The path of a directory ends with `/`.
    paths: Vec<String>,
    /// Notes on omitted content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

pub(super) fn find(root: &Root, find: &Find, stop: &Cancellation) -> Result<Paths, ToolError> {
    let glob = Glob::new("pattern", &find.pattern)?;
    let mut walk = Walk::with_ignored(root, &find.path, stop, find.include_ignored)?;
    let (mut paths, mut left, mut is_full) = (Vec::new(), SizeBudget::new(), false);
    while let Some(found) = walk.next()? {
        if !glob.fits(&found.below) {
            continue;
        }
        let mut path = found.path;
        if found.kind == Kind::Directory {
            path.push('/');
        }
        if !left.take(path.len()) {
            is_full = true;
            break;
        }
        paths.push(path);
    }
    let mut notes = walk.notes();
    if is_full {
        notes.push(format!("only the first {} are shown: make `pattern` or `path` narrower", paths.len()));
    }
    Ok(Paths { paths, notes })
}
