//! The tool `filesystem.ls`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_io::files::{self, Root};
use toolcrib_model::ToolError;

use super::errors::tool_error;
use super::size_budget::SizeBudget;
use super::workspace_root;
use crate::blocking::Cancellation;

/// The maximum number of entries in a result of `ls`.
pub const MAX_ENTRIES: usize = 1000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ls {
    /// The directory, relative to the workspace; the workspace itself by default.
    #[serde(default = "workspace_root")]
    pub(super) path: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Entries {
    /// The entries, by name.
    entries: Vec<Entry>,
    /// Notes on omitted content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Entry {
    name: String,
    kind: Kind,
    /// The size of a file, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    File,
    Directory,
    Symlink,
    Other,
}

impl From<files::Kind> for Kind {
    fn from(kind: files::Kind) -> Self {
        match kind {
            files::Kind::File => Self::File,
            files::Kind::Directory => Self::Directory,
            files::Kind::Symlink => Self::Symlink,
            files::Kind::Other => Self::Other,
        }
    }
}

pub(super) fn ls(root: &Root, ls: &Ls, _stop: &Cancellation) -> Result<Entries, ToolError> {
    let listing = root.list(&ls.path).map_err(|error| tool_error(root, error))?;
    let (all, mut left) = (listing.entries.len(), SizeBudget::new());
    let entries: Vec<Entry> = listing
        .entries
        .into_iter()
        .take(MAX_ENTRIES)
        .take_while(|entry| left.take(entry.name.len()))
        .map(|entry| Entry {
            bytes: (entry.kind == files::Kind::File).then_some(entry.bytes),
            name: entry.name,
            kind: entry.kind.into(),
        })
        .collect();
    let mut notes = Vec::new();
    if entries.len() < all || listing.truncated {
        let or_more = if listing.truncated { " or more" } else { "" };
        notes.push(format!(
            "{} of {all}{or_more} entries are shown: `filesystem.find` finds the others by name",
            entries.len()
        ));
    }
    Ok(Entries { entries, notes })
}
