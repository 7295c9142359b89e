//! The tool `filesystem.tree`.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_io::files::{Kind, Root};
use toolcrib_model::ToolError;

use super::size_budget::SizeBudget;
use super::walk::{MAX_WALK_DEPTH, Walk};
use super::workspace_root;
use crate::blocking::Cancellation;

/// The default depth of `tree`.
const DEFAULT_TREE_DEPTH: usize = 3;

/// The maximum number of entries in a result of `tree`.
pub(crate) const MAX_TREE_ENTRIES: usize = 1000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Tree {
    /// The directory, relative to the workspace; the workspace itself by default.
    #[serde(default = "workspace_root")]
    pub(super) path: String,
    /// The number of levels to show.
    #[serde(default = "default_depth")]
    #[schemars(range(max = MAX_WALK_DEPTH))]
    depth: NonZeroUsize,
    /// True to include files that `.gitignore` leaves out, and `.git`.
    #[serde(default)]
    include_ignored: bool,
}

fn default_depth() -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(DEFAULT_TREE_DEPTH - 1)
}

#[derive(Serialize, JsonSchema)]
pub(super) struct TreeOutput {
    /// One name on each line, indented by its depth. The name of a directory ends with `/`, that of a symlink with `@`.
    tree: String,
    /// Notes on omitted content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

pub(super) fn tree(root: &Root, tree: &Tree, stop: &Cancellation) -> Result<TreeOutput, ToolError> {
    let depth = tree.depth.get();
    let mut walk = Walk::with_ignored(root, &tree.path, stop, tree.include_ignored)?.within_depth(depth);
    let (mut text, mut left, mut shown, mut closed, mut is_full) =
        (String::new(), SizeBudget::new(), 0, false, false);
    while let Some(found) = walk.next()? {
        let name = found.below.rsplit('/').next().unwrap_or(&found.below);
        let mark = match found.kind {
            Kind::Directory => "/",
            Kind::Symlink => "@",
            Kind::File | Kind::Other => "",
        };
        let line = format!("{:indent$}{name}{mark}\n", "", indent = 2 * (found.depth - 1));
        if shown == MAX_TREE_ENTRIES || !left.take(line.len()) {
            is_full = true;
            break;
        }
        closed |= found.kind == Kind::Directory && found.depth == depth;
        text.push_str(&line);
        shown += 1;
    }
    let mut notes = walk.notes();
    if is_full {
        notes.push(format!("only the first {shown} are shown: make `path` narrower, or `depth` smaller"));
    }
    if closed {
        notes.push(format!("what is in the directories at level {depth} is not shown: make `depth` larger"));
    }
    Ok(TreeOutput { tree: text, notes })
}
