//! Telling when files are saved.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::Error;

/// The quiet period before a change is reported. Editors write in several steps.
const SETTLE_TIME: Duration = Duration::from_millis(50);

/// The maximum delay of a change while more changes arrive.
const MAX_SETTLE_TIME: Duration = Duration::from_millis(250);

/// The maximum number of pending events. Further events are dropped; the pending ones suffice to report a change.
const MAX_PENDING_EVENTS: usize = 256;

/// The maximum number of folders below one that is watched with all its source files.
const MAX_WATCHED_FOLDERS: usize = 256;

/// File extensions of source code. Programs write files of other kinds while they run.
const SOURCE_ENDINGS: [&str; 16] =
    ["cjs", "exs", "js", "jl", "lua", "mjs", "mts", "php", "pl", "py", "r", "rb", "sh", "tcl", "toml", "ts"];

/// Folders without source code of the module. Folders whose names begin with a point are skipped too.
const SKIPPED_FOLDERS: [&str; 5] = ["__pycache__", "build", "node_modules", "target", "venv"];

/// A watch on some files and folders. It reports a file that is written in place or replaced by another.
pub struct Watch {
    /// Stops watching when it is dropped.
    watcher: RecommendedWatcher,
    events: mpsc::Receiver<PathBuf>,
    files: Vec<Watched>,
    folders: BTreeSet<PathBuf>,
}

struct Watched {
    /// As the caller named it.
    path: PathBuf,
    /// As the system names it.
    full: PathBuf,
    /// True for a folder, whose source files are all watched.
    is_folder: bool,
}

impl Watched {
    /// Returns true if this path is watched.
    fn contains(&self, path: &Path) -> bool {
        if !self.is_folder {
            return self.full == path;
        }
        let Ok(below) = path.strip_prefix(&self.full) else { return false };
        let ending = below.extension().and_then(OsStr::to_str).map(str::to_lowercase);
        ending.is_some_and(|ending| SOURCE_ENDINGS.contains(&ending.as_str()))
            && !below.parent().into_iter().flatten().any(is_skipped)
    }
}

fn is_skipped(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with('.') || SKIPPED_FOLDERS.contains(&name.as_ref())
}

/// Returns a folder and the folders below it that may hold source code, up to one more than the maximum.
fn folders_of(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut at = 0;
    while let Some(folder) = found.get(at).cloned()
        && found.len() <= MAX_WATCHED_FOLDERS
    {
        at += 1;
        // What cannot be read, or is no folder any more, holds nothing that is loaded.
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        found.extend(folders.filter(|entry| !is_skipped(&entry.file_name())).map(|entry| entry.path()));
    }
    found.truncate(MAX_WATCHED_FOLDERS + 1);
    found
}

impl Watch {
    /// Watches these files. Their folders must be there; they themselves may come later. The source files in
    /// a folder and in those below it are watched if the path is a folder.
    pub fn new(paths: impl IntoIterator<Item = PathBuf>) -> Result<Self, Error> {
        let (sender, events) = mpsc::channel(MAX_PENDING_EVENTS);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let Ok(event) = event else { return };
            if matches!(event.kind, EventKind::Access(_)) {
                return;
            }
            for path in event.paths {
                // A full channel has enough in it to tell.
                let _ = sender.try_send(path);
            }
        })
        .map_err(|error| Error::WatchFailed { path: PathBuf::new(), reason: error.to_string() })?;
        let mut files = Vec::new();
        let mut folders = BTreeSet::new();
        for path in paths {
            let failed = |reason: String| Error::WatchFailed { path: path.clone(), reason };
            let name = path.file_name().ok_or_else(|| failed("it names no file".into()))?;
            let folder =
                path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let folder = folder.canonicalize().map_err(|error| failed(error.to_string()))?;
            let (full, is_folder) = (folder.join(name), path.is_dir());
            // The folder of a file is watched, since a file that another is moved over is no longer the one that was.
            let around = if is_folder { folders_of(&full) } else { vec![folder] };
            if around.len() > MAX_WATCHED_FOLDERS {
                return Err(failed(format!(
                    "there are more than {MAX_WATCHED_FOLDERS} folders in it; keep the programs in a folder of their own"
                )));
            }
            files.push(Watched { full, path: path.clone(), is_folder });
            for folder in around {
                if folders.insert(folder.clone()) {
                    watcher
                        .watch(&folder, RecursiveMode::NonRecursive)
                        .map_err(|error| failed(error.to_string()))?;
                }
            }
        }
        Ok(Self { watcher, events, files, folders })
    }

    /// Waits until files have been saved, and names them as they were named at the start. `None` when watching has
    /// ended.
    pub async fn changed(&mut self) -> Option<Vec<PathBuf>> {
        let mut changed = BTreeSet::new();
        while changed.is_empty() {
            let path = self.events.recv().await?;
            changed.extend(self.followed(&path).or_else(|| self.named(&path)));
        }
        let latest = Instant::now() + MAX_SETTLE_TIME;
        while Instant::now() < latest {
            let quiet = (Instant::now() + SETTLE_TIME).min(latest);
            match timeout_at(quiet, self.events.recv()).await {
                Ok(Some(path)) => changed.extend(self.followed(&path).or_else(|| self.named(&path))),
                Ok(None) | Err(_) => break,
            }
        }
        Some(changed.into_iter().collect())
    }

    /// Watches a new folder below a watched one. Returns the watched one if the new folder contains source code already.
    fn followed(&mut self, path: &Path) -> Option<PathBuf> {
        let above = self.files.iter().find(|file| file.is_folder && path.starts_with(&file.full))?;
        if !path.is_dir() || path.file_name().is_some_and(is_skipped) {
            return None;
        }
        let mut has_sources = false;
        for folder in folders_of(path) {
            if self.folders.len() < MAX_WATCHED_FOLDERS && self.folders.insert(folder.clone()) {
                // It may be gone again.
                let _ = self.watcher.watch(&folder, RecursiveMode::NonRecursive);
                let mut files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
                has_sources |= files.any(|file| above.contains(&file.path()));
            }
        }
        has_sources.then(|| above.path.clone())
    }

    fn named(&self, path: &Path) -> Option<PathBuf> {
        self.files.iter().find(|file| file.contains(path)).map(|file| file.path.clone())
    }
}
