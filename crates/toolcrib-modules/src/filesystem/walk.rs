//! Everything below a directory, one entry at a time.

use std::path::{Component, Path};
use std::sync::Arc;

use toolcrib_io::Error;
use toolcrib_io::files::{Folder, Kind, Name, OpenFile, Root};
use toolcrib_model::ToolError;

use super::blocking::Stop;
use super::failure::failure;
use super::ignored::{self, Ignored, is_git};
use super::room::were;

/// How many entries one call looks at: enough for a large repository, in a few seconds.
pub const MAX_WALK_ENTRIES: usize = 200_000;

/// How deep a walk goes: the entries of the directory itself are at depth 1.
pub const MAX_WALK_DEPTH: usize = 64;

/// A walk that its caller can end at every entry. A directory comes before what is in it, siblings come by name.
/// Symlinks are entries and are not followed. Each directory is opened from the handle of the one above it.
pub(super) struct Walk<'a> {
    stop: &'a Stop,
    /// Where it starts, as the paths of results begin.
    start: String,
    /// The directories that are being walked, the deepest last.
    levels: Vec<Level>,
    /// The rules on what is left out, unless all is wanted.
    ignored: Option<Ignored>,
    /// How deep it goes.
    depth: usize,
    seen: usize,
    left_out: usize,
    unreadable: usize,
    truncated: bool,
}

struct Level {
    folder: Arc<Folder>,
    /// Relative to the start; empty for the start itself.
    below: String,
    entries: std::vec::IntoIter<Name>,
}

/// An entry that a walk came by.
pub(super) struct Found {
    /// Its path as other tools take it.
    pub(super) path: String,
    /// Its path relative to where the walk started.
    pub(super) below: String,
    pub(super) kind: Kind,
    /// How far below the start it is; 1 for what is directly in it.
    pub(super) depth: usize,
    folder: Arc<Folder>,
    name: String,
}

impl Found {
    /// Opens the file from the handle of its directory.
    pub(super) fn open(&self) -> Result<OpenFile, Error> {
        self.folder.open_to_read(&self.name)
    }
}

impl<'a> Walk<'a> {
    /// A walk that leaves out what `.gitignore` files say, in the directories from the root down, and `.git`.
    pub(super) fn new(root: &Root, path: &str, stop: &'a Stop) -> Result<Self, ToolError> {
        let mut walk = Self::of_all(root, path, stop)?;
        let mut ignored = Ignored::default();
        for above in above(&walk.start) {
            // What cannot be read has no rules.
            if let Ok(file) = root.open_to_read(join(above, ignored::FILE)) {
                ignored.add(above, file);
            }
        }
        if let Some(level) = walk.levels.last_mut() {
            add_rules(&mut ignored, &walk.start, level);
        }
        walk.ignored = Some(ignored);
        Ok(walk)
    }

    /// A walk that leaves out nothing.
    pub(super) fn of_all(root: &Root, path: &str, stop: &'a Stop) -> Result<Self, ToolError> {
        let failure = |error| failure(root, error);
        let folder = root.folder(path).map_err(failure)?;
        let names = folder.names().map_err(failure)?;
        let level =
            Level { folder: Arc::new(folder), below: String::new(), entries: names.names.into_iter() };
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

    /// A walk that leaves out nothing, if that is `wanted`.
    pub(super) fn with_ignored(
        root: &Root,
        path: &str,
        stop: &'a Stop,
        wanted: bool,
    ) -> Result<Self, ToolError> {
        if wanted { Self::of_all(root, path, stop) } else { Self::new(root, path, stop) }
    }

    /// Goes no deeper than that, which is then no bound that notes tell of.
    pub(super) fn within_depth(mut self, depth: usize) -> Self {
        self.depth = depth.min(MAX_WALK_DEPTH);
        self
    }

    /// The next entry; an error once the call has been given up.
    pub(super) fn next(&mut self) -> Result<Option<Found>, ToolError> {
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
                if ignored.leaves_out(&path, kind == Kind::Directory) {
                    self.left_out += 1;
                    continue;
                }
            }
            let found = Found { path, below, kind, depth, folder: level.folder.clone(), name };
            if found.kind == Kind::Directory {
                self.descend(&found);
            }
            return Ok(Some(found));
        }
    }

    fn descend(&mut self, directory: &Found) {
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
        let mut level = Level {
            folder: Arc::new(folder),
            below: directory.below.clone(),
            entries: names.names.into_iter(),
        };
        if let Some(ignored) = &mut self.ignored {
            add_rules(ignored, &directory.path, &mut level);
        }
        self.levels.push(level);
    }

    /// What was left out so far, in sentences.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.truncated {
            notes.push(
                "there are more entries than one call looks at: start at a directory further down".into(),
            );
        }
        if self.unreadable > 0 {
            notes
                .push(format!("{} skipped: not readable", were(self.unreadable, "directory", "directories")));
        }
        if self.left_out > 0 {
            notes.push(format!(
                "{} left out by `.gitignore`: set `include_ignored` to see all",
                were(self.left_out, "entry", "entries")
            ));
        }
        let unread = self.ignored.as_ref().map_or(0, |ignored| ignored.unread);
        if unread > 0 {
            notes.push(format!(
                "{} not understood, or one too many: nothing was left out by it",
                were(unread, "`.gitignore`", "files `.gitignore`")
            ));
        }
        notes
    }
}

/// The rules of a directory, which are in one of its files.
fn add_rules(ignored: &mut Ignored, path: &str, level: &mut Level) {
    let is_rules = |name: &Name| name.name == ignored::FILE && name.kind == Kind::File;
    if level.entries.as_slice().iter().any(is_rules)
        && let Ok(file) = level.folder.open_to_read(ignored::FILE)
    {
        ignored.add(path, file);
    }
}

/// The directories above a path, the root first; none for the root, and for what is not told from the root.
fn above(path: &str) -> impl Iterator<Item = &str> {
    let is_below = !path.is_empty() && !path.starts_with('/');
    let root = is_below.then_some("").into_iter();
    root.chain(path.match_indices('/').filter(move |_| is_below).filter_map(|(at, _)| path.get(..at)))
}

/// The path in the form that results have: relative where that can be told, without `.` steps; empty for the root.
pub(super) fn relative(root: &Root, path: &str) -> String {
    let path = Path::new(path);
    // Only paths of the workspace are told relative to it.
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
