//! Telling when files are saved.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::Error;

/// The quiet period before a change is reported. Editors write in several steps.
pub const SETTLE_TIME: Duration = Duration::from_millis(50);

/// The maximum delay of a change while more changes arrive.
pub const MAX_SETTLE_TIME: Duration = Duration::from_millis(250);

/// The maximum number of pending events. Further events are dropped; the pending ones suffice to report a change.
const MAX_PENDING_EVENTS: usize = 256;

/// A watch on some files. It reports a file that is written in place or replaced by another.
pub struct Watch {
    /// Stops watching when it is dropped.
    _watcher: RecommendedWatcher,
    events: mpsc::Receiver<PathBuf>,
    files: Vec<Watched>,
}

struct Watched {
    /// As the caller named it.
    path: PathBuf,
    /// As the system names it.
    full: PathBuf,
}

impl Watch {
    /// Watches these files. Their folders must be there; they themselves may come later.
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
            files.push(Watched { full: folder.join(name), path: path.clone() });
            if folders.insert(folder.clone()) {
                // The folder is watched, since a file that another is moved over is no longer the one that was.
                watcher
                    .watch(&folder, RecursiveMode::NonRecursive)
                    .map_err(|error| failed(error.to_string()))?;
            }
        }
        Ok(Self { _watcher: watcher, events, files })
    }

    /// Waits until files have been saved, and names them as they were named at the start. `None` when watching has
    /// ended.
    pub async fn changed(&mut self) -> Option<Vec<PathBuf>> {
        let mut changed = BTreeSet::new();
        while changed.is_empty() {
            let path = self.events.recv().await?;
            changed.extend(self.named(&path));
        }
        let latest = Instant::now() + MAX_SETTLE_TIME;
        while Instant::now() < latest {
            let quiet = (Instant::now() + SETTLE_TIME).min(latest);
            match timeout_at(quiet, self.events.recv()).await {
                Ok(Some(path)) => changed.extend(self.named(&path)),
                Ok(None) | Err(_) => break,
            }
        }
        Some(changed.into_iter().collect())
    }

    fn named(&self, path: &Path) -> Option<PathBuf> {
        self.files.iter().find(|file| file.full == path).map(|file| file.path.clone())
    }
}
