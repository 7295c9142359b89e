//! Recursive directory walks.

use std::path::{Path, PathBuf};

use cap_std::fs::Dir;

use super::directory::open_folder;
use super::entry::Kind;
use super::listing::entries;
use super::path::explain;
use super::purpose::Purpose;
use super::root::Root;
use crate::Error;

/// The default maximum number of entries of a walk.
pub const DEFAULT_WALK_ENTRIES: usize = 20_000;

/// The default depth of a walk. The entries of the directory itself are at depth 1.
pub const DEFAULT_WALK_DEPTH: usize = 32;

/// The maximum depth of a walk. Each level holds a directory open.
pub const MAX_WALK_DEPTH: usize = 64;

/// The limits of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkLimits {
    /// The maximum number of entries; [`DEFAULT_WALK_ENTRIES`] by default.
    pub entries: usize,
    /// The depth, at most [`MAX_WALK_DEPTH`]; [`DEFAULT_WALK_DEPTH`] by default.
    pub depth: usize,
}

impl Default for WalkLimits {
    fn default() -> Self {
        Self { entries: DEFAULT_WALK_ENTRIES, depth: DEFAULT_WALK_DEPTH }
    }
}

/// An entry of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkEntry {
    /// Its path relative to the root.
    pub path: PathBuf,
    /// The kind. Symlinks are not followed.
    pub kind: Kind,
    /// Its size in bytes, as the file system gives it.
    pub bytes: u64,
}

/// The result of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// The entries: a directory before its content, siblings by name.
    pub entries: Vec<WalkEntry>,
    /// True if a limit left entries out.
    pub truncated: bool,
    /// The directories that could not be read or may not be read, relative to the root.
    pub unreadable: Vec<PathBuf>,
}

impl Root {
    /// Walks everything below a directory. Symlinks are reported and not followed.
    pub fn walk(&self, path: impl AsRef<Path>, limits: WalkLimits) -> Result<Walk, Error> {
        let path = path.as_ref();
        let dir = self.open_dir(path)?;
        let below = self.below(path)?;
        let prefix = below.strip_prefix(".").unwrap_or(&below);
        let limits = WalkLimits { depth: limits.depth.min(MAX_WALK_DEPTH), ..limits };
        let mut walk = Walk::default();
        descend(self, &dir, prefix, 1, limits, &mut walk).map_err(|source| explain("walk", path, source))?;
        Ok(walk)
    }
}

fn descend(
    root: &Root,
    dir: &Dir,
    prefix: &Path,
    depth: usize,
    limits: WalkLimits,
    walk: &mut Walk,
) -> std::io::Result<()> {
    let listing = entries(dir)?;
    walk.truncated |= listing.truncated;
    for entry in listing.entries {
        if depth > limits.depth || walk.entries.len() >= limits.entries {
            walk.truncated = true;
            return Ok(());
        }
        let path = prefix.join(&entry.name);
        walk.entries.push(WalkEntry { path: path.clone(), kind: entry.kind, bytes: entry.bytes });
        if entry.kind != Kind::Directory {
            continue;
        }
        if root.guard().check_real(&path, &path, Purpose::Read, "list").is_err() {
            walk.unreadable.push(path);
            continue;
        }
        // Opened relative to its parent's handle: a symlink that has replaced it is not followed.
        let descended = open_folder(dir, &entry.name)
            .and_then(|below| descend(root, &below, &path, depth + 1, limits, walk));
        if descended.is_err() {
            walk.unreadable.push(path);
        }
    }
    Ok(())
}
