//! The recursive walk of a directory.

use std::path::{Component, Path};
use std::sync::Arc;

use toolcrib_io::Error;
use toolcrib_io::files::{Folder, Kind, Name, OpenFile, Root};
use toolcrib_model::ToolError;

use super::errors::tool_error;
use super::gitignore::{self, IgnoreRules, is_git};
use super::size_budget::count_were;
use crate::blocking::Cancellation;

/// The maximum number of entries that one call visits: enough for a large repository, in a few seconds.
const MAX_WALK_ENTRIES: usize = 200_000;

/// The maximum depth of a walk. The entries of the directory itself are at depth 1.
pub const MAX_WALK_DEPTH: usize = 64;

/// A walk that its caller can end at every entry. A directory precedes its content, siblings are sorted by name.
/// Symlinks are entries and are not followed. Each directory is opened from the handle of its parent.
pub(super) struct Walk<'a> {
    stop: &'a Cancellation,
    /// The start, as a prefix of the paths of results.
    start: String,
    /// The directories that are being walked, the deepest last.
    levels: Vec<WalkLevel>,
    /// The rules of `.gitignore`; `None` to include all entries.
    ignored: Option<IgnoreRules>,
    /// The maximum depth.
    depth: usize,
    seen: usize,
    left_out: usize,
    unreadable: usize,
    truncated: bool,
}

struct WalkLevel {
    folder: Arc<Folder>,
    /// The path relative to the start; empty for the start itself.
    below: String,
    entries: std::vec::IntoIter<Name>,
}

/// An entry of a walk.
pub(super) struct WalkEntry {
    /// The path in the form that other tools accept.
    pub(super) path: String,
    /// The path relative to the start of the walk.
    pub(super) below: String,
    pub(super) kind: Kind,
    /// The depth below the start; 1 for its direct entries.
    pub(super) depth: usize,
    folder: Arc<Folder>,
    name: String,
}

impl WalkEntry {
    /// Opens the file from the handle of its directory.
    pub(super) fn open(&self) -> Result<OpenFile, Error> {
        self.folder.open_to_read(&self.name)
    }
}

impl<'a> Walk<'a> {
    /// Returns a walk that omits `.git` and the entries that the `.gitignore` files from the root down ignore.
    pub(super) fn new(root: &Root, path: &str, stop: &'a Cancellation) -> Result<Self, ToolError> {
        let mut walk = Self::of_all(root, path, stop)?;
        let mut ignored = IgnoreRules::default();
        for above in ancestors(&walk.start) {
            // An unreadable file has no rules.
            if let Ok(file) = root.open_to_read(join(above, gitignore::FILE)) {
                ignored.add(above, file);
            }
        }
        if let Some(level) = walk.levels.last_mut() {
            add_rules(&mut ignored, &walk.start, level);
        }
        walk.ignored = Some(ignored);
        Ok(walk)
    }

    /// Returns a walk that omits nothing.
    pub(super) fn of_all(root: &Root, path: &str, stop: &'a Cancellation) -> Result<Self, ToolError> {
        let tool_error = |error| tool_error(root, error);
        let folder = root.folder(path).map_err(tool_error)?;
        let names = folder.names().map_err(tool_error)?;
        let level =
            WalkLevel { folder: Arc::new(folder), below: String::new(), entries: names.names.into_iter() };
        Ok(Self {
            stop,
            start: relative(root, path),
            levels: vec![level],
            ignored: None,
            depth: MAX_WALK_DEPTH,
            seen: 0,
            left_out: 0,
            unreadable: 0,
            truncated: names.truncated,
        })
    }

    /// Returns a walk that omits nothing if `include_ignored` is true, or the ignored entries otherwise.
    pub(super) fn with_ignored(
        root: &Root,
        path: &str,
        stop: &'a Cancellation,
        include_ignored: bool,
    ) -> Result<Self, ToolError> {
        if include_ignored { Self::of_all(root, path, stop) } else { Self::new(root, path, stop) }
    }

    /// Limits the depth. Notes do not mention this limit.
    pub(super) fn within_depth(mut self, depth: usize) -> Self {
        self.depth = depth.min(MAX_WALK_DEPTH);
        self
    }

    /// Returns the next entry; an error once the call was cancelled.
    pub(super) fn next(&mut self) -> Result<Option<WalkEntry>, ToolError> {
        loop {
            self.stop.check()?;
            let depth = self.levels.len();
            let Some(level) = self.levels.last_mut() else { return Ok(None) };
            let Some(Name { name, kind }) = level.entries.next() else {
                if let (Some(ignored), Some(level)) = (&mut self.ignored, self.levels.pop()) {
                    ignored.leave(&join(&self.start, &level.below));
                }
                continue;
            };
            if self.seen == MAX_WALK_ENTRIES {
                self.truncated = true;
                self.levels.clear();
                return Ok(None);
            }
            self.seen += 1;
            let below = join(&level.below, &name);
            let path = join(&self.start, &below);
            if let Some(ignored) = &self.ignored {
                if is_git(&name) {
                    continue;
                }
                if ignored.is_ignored(&path, kind == Kind::Directory) {
                    self.left_out += 1;
                    continue;
                }
            }
            let found = WalkEntry { path, below, kind, depth, folder: level.folder.clone(), name };
            if found.kind == Kind::Directory {
                self.descend(&found);
            }
            return Ok(Some(found));
        }
    }

    fn descend(&mut self, directory: &WalkEntry) {
        if directory.depth >= self.depth {
            self.truncated |= self.depth == MAX_WALK_DEPTH;
            return;
        }
        let opened = directory.folder.folder(&directory.name);
        let Ok((folder, names)) = opened.and_then(|folder| folder.names().map(|names| (folder, names)))
        else {
            self.unreadable += 1;
            return;
        };
        self.truncated |= names.truncated;
        let mut level = WalkLevel {
            folder: Arc::new(folder),
            below: directory.below.clone(),
            entries: names.names.into_iter(),
        };
        if let Some(ignored) = &mut self.ignored {
            add_rules(ignored, &directory.path, &mut level);
        }
        self.levels.push(level);
    }

    /// Returns notes on the entries that were omitted so far.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.truncated {
            notes.push(
                "there are more entries than one call looks at: start at a directory further down".into(),
            );
        }
        if self.unreadable > 0 {
            notes.push(format!(
                "{} skipped: not readable",
                count_were(self.unreadable, "directory", "directories")
            ));
        }
        if self.left_out > 0 {
            notes.push(format!(
                "{} left out by `.gitignore`: set `include_ignored` to see all",
                count_were(self.left_out, "entry", "entries")
            ));
        }
        let unread = self.ignored.as_ref().map_or(0, |ignored| ignored.unread);
        if unread > 0 {
            notes.push(format!(
                "{} not understood, or one too many: nothing was left out by it",
                count_were(unread, "`.gitignore`", "files `.gitignore`")
            ));
        }
        notes
    }
}

/// Adds the rules of a directory, if it contains a file of rules.
fn add_rules(ignored: &mut IgnoreRules, path: &str, level: &mut WalkLevel) {
    let is_rules = |name: &Name| name.name == gitignore::FILE && name.kind == Kind::File;
    if level.entries.as_slice().iter().any(is_rules)
        && let Ok(file) = level.folder.open_to_read(gitignore::FILE)
    {
        ignored.add(path, file);
    }
}

/// Returns the directories above a path, the root first; none for the root itself and for absolute paths.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let is_below = !path.is_empty() && !path.starts_with('/');
    let root = is_below.then_some("").into_iter();
    root.chain(path.match_indices('/').filter(move |_| is_below).filter_map(|(at, _)| path.get(..at)))
}

/// Returns a path in the form of results: relative if possible, without `.` components; empty for the root.
pub(super) fn relative(root: &Root, path: &str) -> String {
    let path = Path::new(path);
    // Only paths of the workspace are shown relative to it.
    let path =
        if root.is_outside_workspace() { path } else { path.strip_prefix(root.path()).unwrap_or(path) };
    if path.is_absolute() {
        return path.display().to_string();
    }
    let names = path.components().filter(|component| *component != Component::CurDir);
    names.map(|component| component.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

pub(super) fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() {
        name.into()
    } else if name.is_empty() {
        directory.into()
    } else {
        format!("{directory}/{name}")
    }
}
