//! Everything below a directory, one entry at a time.

use std::path::{Component, Path};

use toolcrib_io::files::{Entry, Kind, Root};
use toolcrib_model::ToolError;

use super::blocking::Stop;
use super::failure::failure;
use super::room::were;

/// How many entries one call looks at: enough for a large repository, in a few seconds.
pub const MAX_WALK_ENTRIES: usize = 200_000;

/// How deep a walk goes: the entries of the directory itself are at depth 1.
pub const MAX_WALK_DEPTH: usize = 64;

/// A walk that its caller can end at every entry. A directory comes before what is in it, siblings come by name.
/// Symlinks are entries and are not followed.
pub(super) struct Walk<'a> {
    root: &'a Root,
    stop: &'a Stop,
    /// Where it starts, as the paths of results begin.
    start: String,
    /// The directories that are being walked, the deepest last.
    levels: Vec<Level>,
    seen: usize,
    unreadable: usize,
    truncated: bool,
}

struct Level {
    /// Relative to the start; empty for the start itself.
    below: String,
    entries: std::vec::IntoIter<Entry>,
}

/// An entry that a walk came by.
pub(super) struct Found {
    /// Its path as other tools take it.
    pub(super) path: String,
    /// Its path relative to where the walk started.
    pub(super) below: String,
    pub(super) kind: Kind,
}

impl<'a> Walk<'a> {
    pub(super) fn new(root: &'a Root, path: &str, stop: &'a Stop) -> Result<Self, ToolError> {
        let listing = root.list(path).map_err(|error| failure(root, error))?;
        let level = Level { below: String::new(), entries: listing.entries.into_iter() };
        Ok(Self {
            root,
            stop,
            start: relative(root, path),
            levels: vec![level],
            seen: 0,
            unreadable: 0,
            truncated: listing.truncated,
        })
    }

    /// The next entry; an error once the call has been given up.
    pub(super) fn next(&mut self) -> Result<Option<Found>, ToolError> {
        loop {
            self.stop.check()?;
            let Some(level) = self.levels.last_mut() else { return Ok(None) };
            let Some(entry) = level.entries.next() else {
                self.levels.pop();
                continue;
            };
            if self.seen == MAX_WALK_ENTRIES {
                self.truncated = true;
                self.levels.clear();
                return Ok(None);
            }
            self.seen += 1;
            let below = join(&level.below, &entry.name);
            let found = Found { path: join(&self.start, &below), below, kind: entry.kind };
            if found.kind == Kind::Directory {
                self.descend(&found);
            }
            return Ok(Some(found));
        }
    }

    fn descend(&mut self, directory: &Found) {
        if self.levels.len() == MAX_WALK_DEPTH {
            self.truncated = true;
            return;
        }
        match self.root.list(&directory.path) {
            Ok(listing) => {
                self.truncated |= listing.truncated;
                self.levels
                    .push(Level { below: directory.below.clone(), entries: listing.entries.into_iter() });
            }
            Err(_) => self.unreadable += 1,
        }
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
        notes
    }
}

/// The path in the form that results have: relative where that can be told, without `.` steps; empty for the root.
pub(super) fn relative(root: &Root, path: &str) -> String {
    let path = Path::new(path);
    let path = path.strip_prefix(root.path()).unwrap_or(path);
    if path.is_absolute() {
        return path.display().to_string();
    }
    let names = path.components().filter(|component| *component != Component::CurDir);
    names.map(|component| component.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.into() } else { format!("{directory}/{name}") }
}
