//! The store of the tasks of an app.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use toolcrib_model::Secret;

use super::{StoreLocation, TaskSettings, TaskStore};
use crate::Store;
use crate::store::{MemoryStore, OpenedStore, SqliteStore, StoreError};

#[cfg(test)]
mod tests;

/// A store that was opened.
pub(super) struct TaskLocation {
    pub(super) store: Arc<dyn Store>,
    /// True if another process has it.
    pub(super) is_beside: bool,
    pub(super) warnings: Vec<String>,
}

impl TaskLocation {
    fn new(store: impl Store + 'static) -> Self {
        Self { store: Arc::new(store), is_beside: false, warnings: Vec::new() }
    }
}

/// The time in which the lock of a process that was killed is released.
const LOCK_WAIT: Duration = Duration::from_millis(500);

/// The time between two attempts to acquire the lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// Opens the store of an app. Where tasks cannot be kept in a file, they are with this process, and a warning says why.
pub(super) async fn open(settings: &TaskSettings) -> Result<TaskLocation, StoreError> {
    let location = settings.location.as_ref().filter(|_| settings.mode != TaskStore::Process);
    let path = match location {
        None => return Ok(TaskLocation::new(MemoryStore::new())),
        Some(StoreLocation::Postgres(url)) => return open_server(url, settings.mode).await,
        Some(StoreLocation::File(path)) => path,
    };
    let opened = match settings.mode {
        TaskStore::Operator => SqliteStore::open(path, settings.is_shared).await,
        _ => open_after(path, settings.is_shared).await,
    };
    match (settings.mode, opened) {
        (_, Ok(opened)) => {
            let damaged = opened.quarantined.map(|aside| damaged(path, &aside));
            Ok(TaskLocation { warnings: damaged.into_iter().collect(), ..TaskLocation::new(opened.store) })
        }
        (TaskStore::Operator, Err(StoreError::InUse { .. })) => {
            let store = SqliteStore::open_unlocked(path).await?;
            // What changes from here on is news, and what is read behind this is not.
            store.has_changed().await?;
            Ok(TaskLocation { is_beside: true, ..TaskLocation::new(store) })
        }
        (TaskStore::Operator, Err(error)) => Err(error),
        (_, Err(error)) => {
            Ok(TaskLocation { warnings: vec![not_kept(&error)], ..TaskLocation::new(MemoryStore::new()) })
        }
    }
}

#[cfg(feature = "postgres")]
async fn open_server(url: &Secret, mode: TaskStore) -> Result<TaskLocation, StoreError> {
    let store = crate::store::PostgresStore::open(url).await?;
    // What changes from here on is news.
    store.has_changed().await?;
    // Processes on other machines run the tasks.
    Ok(TaskLocation { is_beside: mode == TaskStore::Operator, ..TaskLocation::new(store) })
}

#[cfg(not(feature = "postgres"))]
#[expect(clippy::unused_async, reason = "with the feature `postgres`, it connects")]
async fn open_server(url: &Secret, _mode: TaskStore) -> Result<TaskLocation, StoreError> {
    Err(StoreError::Unsupported { location: crate::store::without_credentials(url) })
}

/// Opens the store, also if the process before has just been killed: a program that it was starting holds its lock until
/// that program runs.
async fn open_after(path: &Path, is_shared: bool) -> Result<OpenedStore, StoreError> {
    let began = Instant::now();
    loop {
        match SqliteStore::open(path, is_shared).await {
            Err(StoreError::InUse { .. }) if began.elapsed() < LOCK_WAIT => sleep(LOCK_INTERVAL).await,
            opened => return opened,
        }
    }
}

fn damaged(path: &Path, aside: &Path) -> String {
    format!(
        "the tasks in {} were damaged, and none of them is known any more; what is left is in {}",
        path.display(),
        aside.display()
    )
}

/// Returns the warning that tasks end with the process.
pub(super) fn not_kept(error: &StoreError) -> String {
    format!("background tasks, watchers and schedules end with this process: {error}")
}
